/* Races in global memory. Each word has two records, its last write (or a second reader) and a reader, in pages that are
 * given out when they are first touched in a launch, and taken back before the next. */
#include <sys/mman.h>

#include "check.h"

enum { PAGE_BYTES = 1 << 14, PAGE_WORDS = PAGE_BYTES / 4, TICK_BITS = 10, TICK_MASK = (1 << TICK_BITS) - 1 };
enum { ROW_MASK = (1 << ROW_BITS) - 1, CHUNK_PAGES = 31 };
#define HUGE ((size_t)2 << 20)
typedef struct Chunk Chunk;
struct Page {
    uint64_t number; /* its address / PAGE_BYTES */
    int lock;
    uint64_t last[PAGE_WORDS], reader[PAGE_WORDS];
};

#define UP(row, warp, tick) ((uint64_t)((row) & ROW_MASK) << 42 | (uint64_t)(warp) << 37 | (uint64_t)(tick) << 27)
#define ROW_OF(r) ((uint32_t)((r) >> 42))
#define WARP_OF(r) ((uint32_t)((r) >> 37) & 31)
#define TICK_OF(r) ((uint32_t)((r) >> 27) & TICK_MASK)

/* Pages are made many at a time, in memory that the system gives in large pieces: it is touched at every few bytes. */
struct Chunk {
    Chunk *after;
    uint32_t used;
    Page pages[CHUNK_PAGES];
};

static Chunk *new_chunk(void) {
    size_t size = (sizeof(Chunk) + HUGE - 1) & ~(size_t)(HUGE - 1);
    char *made = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) abort();
    char *aligned = (char *)(((uintptr_t)made + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    if (aligned > made) munmap(made, (size_t)(aligned - made));
    if (made + HUGE > aligned) munmap(aligned + size, (size_t)(made + HUGE - aligned));
    madvise(aligned, size, MADV_HUGEPAGE);
    return (Chunk *)aligned;
}

static Page *new_page(Check *c, uint64_t number) {
    Chunk *chunk = c->chunk;
    if (!chunk || chunk->used == CHUNK_PAGES) {
        Chunk **place = chunk ? &chunk->after : &c->chunks;
        if (!*place) *place = new_chunk();
        chunk = c->chunk = *place;
    }
    Page *page = &chunk->pages[chunk->used++];
    page->number = number;
    return page;
}

static Page *page_at(Check *c, uint64_t number) {
    Page *p = __atomic_load_n(&c->pages[number], __ATOMIC_ACQUIRE);
    if (!p) {
        pthread_mutex_lock(&c->lock);
        p = c->pages[number];
        if (!p) __atomic_store_n(&c->pages[number], p = new_page(c, number), __ATOMIC_RELEASE);
        pthread_mutex_unlock(&c->lock);
    }
    while (__atomic_exchange_n(&p->lock, 1, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
    return p;
}

static void leave(Page *p) { __atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE); }

/* What a record says, or false where it is of this block but of an earlier segment: too long ago to tell. */
static bool earlier(const BlockState *s, uint64_t r, Earlier *e) {
    uint32_t row = ROW_OF(r);
    pthread_mutex_lock(&s->check->lock); /* the table may be moved */
    uint32_t block = s->check->segments[row].block, tick = s->check->segments[row].base + TICK_OF(r);
    pthread_mutex_unlock(&s->check->lock);
    *e = (Earlier){block, WARP_OF(r), LANE_OF(r), LINE_OF(r), tick, (uint32_t)r & FLAGS, block == s->block, false, false};
    return !e->same_block || row == (s->segment & ROW_MASK);
}

static bool same_thread(uint64_t a, uint64_t b) {
    return !((a ^ b) >> 37) && LANE_OF(a) == LANE_OF(b);
}

static void against(const Access *a, uint64_t r, uint64_t mine) {
    Earlier e;
    if (!r || !(BYTES_OF(r) & BYTES_OF(mine))) return;
    bool same = same_thread(r, mine);
    if (same && !(r & READ && r & (MORE_LANES | MORE_WARPS)) && !(r & OF_LANES)) return;
    if (!earlier(a->s, r, &e)) return;
    if (r & OF_LANES) {
        e.other_lane = true;
        if (e.same_block && e.warp == a->warp) return; /* which of its lanes wrote these bytes is not known */
    }
    if (same) {
        e.other_lane = r & MORE_LANES;
        e.other_warp = r & MORE_WARPS;
    }
    lw_conflict(a, &e);
}

/* The reader that is kept: one of another block rather than of another warp rather than of another lane. */
static void note_reader(BlockState *s, uint64_t *last, uint64_t *reader, uint64_t mine) {
    uint64_t r = *reader;
    if (r && !(r & READ) && mine & STRONG) return; /* see lw_second_strong */
    if (!(r & READ)) r = 0;
    bool same = same_thread(r, mine);
    if (!r || (same && !(r & (MORE_LANES | MORE_WARPS)))) {
        if (r >> 22 != mine >> 22 || r & STRONG || !(mine & STRONG)) *reader = mine;
        return;
    }
    if (same) return;
    if (ROW_OF(r) == ROW_OF(mine)) {
        uint32_t tick = s->base + TICK_OF(r), warp = WARP_OF(r);
        if (lw_in_step(s, WARP_OF(mine), LANE_OF(mine), warp, LANE_OF(r), tick)) {
            *reader = mine;
            return;
        }
        if (warp == WARP_OF(mine)) {
            if (BYTES_OF(r) & BYTES_OF(mine)) *reader = r | MORE_LANES;
            else if (r >> 27 == mine >> 27) *reader = r | BYTES(BYTES_OF(mine)) | OF_LANES;
            return;
        }
    }
    uint64_t second = *last;
    if (!second || (second & READ && (ROW_OF(second) == ROW_OF(r) || second >> 37 == mine >> 37)))
        *last = mine;
    else if (!(second & READ) && ROW_OF(r) == ROW_OF(mine))
        *reader = r | MORE_WARPS;
}

static void one_word(Access *a, Page *p, uint32_t word, uint64_t mine, bool load) {
    uint64_t *last = &p->last[word], *reader = &p->reader[word], first = UP(a->s->check->first_segment, 0, 0);
    if (*last < first) *last = 0;
    if (*reader < first) *reader = 0;
    if (load) {
        if (*last && !(*last & READ)) against(a, *last, mine);
        note_reader(a->s, last, reader, mine);
        return;
    }
    against(a, *last, mine);
    against(a, *reader, mine);
    if (lw_second_strong(last, reader, first, mine)) return;
    if (!(BYTES_OF(*reader) & ~BYTES_OF(mine))) *reader = 0;
    *last = lw_last(*last, mine, *last >> 27 == mine >> 27);
}

/* The common case, for all lanes at once: a full warp, neighbouring words, all of them new in this launch. */
static bool whole_words(const Access *a, uint64_t up, uint32_t flags) {
    Check *c = a->s->check;
    const Site *site = a->site;
    uint64_t start = a->at[0] - c->arena, differs = start % 4;
    if (a->mask != ~0u || site->bytes != 4 || site->kind == IS_ATOMIC) return false;
    for (uint32_t i = 0; i < LANES; i++) differs |= a->at[i] ^ (a->at[0] + 4 * i);
    uint32_t word = start % PAGE_BYTES / 4;
    if (differs || start >= c->arena_size || word + LANES > PAGE_WORDS) return false;
    Page *p = page_at(c, start / PAGE_BYTES);
    uint64_t *last = p->last + word, *reader = p->reader + word, first = UP(c->first_segment, 0, 0), busy = 0;
    uint64_t *to = site->kind == IS_LOAD ? reader : last, mine = up | LOW(0, site->line, 15, flags);
    for (uint32_t i = 0; i < LANES; i++) busy |= (uint64_t)(last[i] >= first) | (uint64_t)(reader[i] >= first);
    if (!busy)
        for (uint32_t i = 0; i < LANES; i++) to[i] = mine + ((uint64_t)i << 22);
    leave(p);
    return !busy;
}

void lw_global(Access *a) {
    BlockState *s = a->s;
    Check *c = s->check;
    const Site *site = a->site;
    bool load = site->kind == IS_LOAD;
    uint32_t flags = (load ? READ : 0) | (site->scope ? STRONG : 0) | (!load && site->scope == 1 ? OF_BLOCK : 0);
    uint64_t up = UP(s->segment, a->warp, s->tick - s->base);
    Page *page = NULL;
    uint64_t here = ~0ull, first = UP(c->first_segment, 0, 0);
    bool settles = site->kind == IS_ATOMIC && site->bytes == 4;
    a->memory = NULL;
    if (whole_words(a, up, flags)) return;
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        a->lane = (uint32_t)__builtin_ctz(rest);
        uint64_t offset = a->at[a->lane] - c->arena, end = offset + site->bytes;
        if (offset >= c->arena_size || end > c->arena_size) continue;
        for (uint64_t at = offset & ~3ull; at < end; at += 4) {
            if (at / PAGE_BYTES != here) {
                if (page) leave(page);
                here = at / PAGE_BYTES;
                page = page_at(c, here);
            }
            uint32_t word = (uint32_t)(at % PAGE_BYTES / 4);
            if (settles && lw_settled(page->last[word], page->reader[word], first)) continue;
            uint32_t low = offset > at ? (uint32_t)(offset - at) : 0, high = end - at < 4 ? (uint32_t)(end - at) : 4;
            uint32_t bytes = ((1u << high) - 1) & ~((1u << low) - 1);
            a->address = c->arena + at + low;
            a->part = (uint32_t)(at + low - offset);
            one_word(a, page, word, up | LOW(a->lane, site->line, bytes, flags), load);
        }
    }
    if (page) leave(page);
}

/* --- what a launch has touched, for comparison with other launches */
enum { MOST_SPANS = 1 << 17 }; /* with threads; beyond that, neighbouring bytes are one span whoever touched them */

static void add_span(Check *c, const Span *span) {
    if (c->span_count == c->span_room) {
        c->span_room = c->span_room ? 2 * c->span_room : 256;
        c->spans = realloc(c->spans, c->span_room * sizeof *c->spans);
    }
    c->spans[c->span_count++] = *span;
}

/* Makes the open span longer, or begins another. `id`: of the thread, over all blocks. */
static void widen_span(Check *c, Span *open, uint64_t *first, const Span *more, uint64_t id) {
    bool follows = open->end == more->begin && open->line == more->line && open->flags == more->flags;
    if (follows && open->per && c->span_count < MOST_SPANS) {
        uint64_t before = more->begin - open->begin;
        if (open->per > before && id == *first + 1) open->per = before; /* the second thread says how many each has */
        follows = id == *first + before / open->per;
    } else if (follows) {
        open->per = 0;
    }
    if (follows) {
        open->end = more->end;
        return;
    }
    if (open->end) add_span(c, open);
    *open = *more;
    *first = id;
}

static void span_of(Check *c, Span *open, uint64_t *first, uint64_t word, uint64_t r, uint32_t threads) {
    uint32_t bytes = BYTES_OF(r), thread = WARP_OF(r) * LANES + LANE_OF(r), block = c->segments[ROW_OF(r)].block;
    uint32_t low = (uint32_t)__builtin_ctz(bytes), high = 32 - (uint32_t)__builtin_clz(bytes);
    bool unknown = r & OF_LANES, block_scope = !(r & READ) && r & OF_BLOCK;
    Span more = {word + low, word + high, LINE_OF(r), (uint32_t)r & (READ | STRONG), block, thread, unknown ? 0 : ~0ull};
    if (block_scope) more.flags |= OF_BLOCK;
    widen_span(c, open, first, &more, (uint64_t)block * threads + thread);
}

/* `threads` of a block. The launch is over. */
void lw_find_spans(Check *c, uint32_t threads) {
    uint64_t first = UP(c->first_segment, 0, 0), firsts[2] = {0};
    c->span_count = 0;
    for (Chunk *chunk = c->chunks; chunk; chunk = chunk->after)
        for (uint32_t i = 0; i < chunk->used; i++) {
            const Page *p = &chunk->pages[i];
            uint64_t base = c->arena + p->number * PAGE_BYTES;
            Span open[2] = {{0}, {0}}; /* writes, reads */
            for (uint32_t w = 0; w < PAGE_WORDS; w++) {
                uint64_t last = p->last[w], reader = p->reader[w];
                bool known = last >= first && BYTES_OF(last), other = reader >= first && BYTES_OF(reader);
                if (known) span_of(c, &open[last & READ], &firsts[last & READ], base + 4 * w, last, threads);
                if (other && !(known && last & reader & READ))
                    span_of(c, &open[reader & READ], &firsts[reader & READ], base + 4 * w, reader, threads);
            }
            for (int k = 0; k < 2; k++)
                if (open[k].end) add_span(c, &open[k]);
        }
}

/* Segments begin anew: what the records of all launches so far say is forgotten. */
void lw_forget_records(Check *c) {
    for (Chunk *chunk = c->chunks; chunk; chunk = chunk->after)
        for (uint32_t i = 0; i < CHUNK_PAGES; i++) {
            memset(chunk->pages[i].last, 0, sizeof chunk->pages[i].last);
            memset(chunk->pages[i].reader, 0, sizeof chunk->pages[i].reader);
        }
    c->next_segment = c->first_segment = 1;
}

void lw_forget_pages(Check *c) {
    for (Chunk *chunk = c->chunks, *after; chunk; chunk = after) {
        after = chunk->after;
        munmap(chunk, (sizeof *chunk + HUGE - 1) & ~(size_t)(HUGE - 1));
    }
    free(c->pages);
    c->pages = NULL;
    c->chunks = c->chunk = NULL;
}

void lw_page_room(Check *c) {
    if (!c->pages) c->pages = calloc(c->arena_size / PAGE_BYTES + 1, sizeof *c->pages);
    for (Chunk *chunk = c->chunks; chunk; chunk = chunk->after) {
        for (uint32_t i = 0; i < chunk->used; i++) c->pages[chunk->pages[i].number] = NULL;
        chunk->used = 0;
    }
    c->chunk = NULL;
}
