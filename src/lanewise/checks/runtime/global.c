/* Races in global memory. Each word has two records, its last write (or a second reader) and a reader, in pages that are
 * made when they are first touched and forgotten from one launch to the next. */
#include "check.h"

enum { PAGE_BYTES = 1 << 14, PAGE_WORDS = PAGE_BYTES / 4, TICK_BITS = 10, TICK_MASK = (1 << TICK_BITS) - 1 };
enum { ROW_MASK = (1 << 22) - 1 };
struct Page {
    Page *after; /* of all that were made */
    uint32_t launch;
    int lock;
    uint64_t last[PAGE_WORDS], reader[PAGE_WORDS];
};

#define UP(row, warp, tick) ((uint64_t)((row) & ROW_MASK) << 42 | (uint64_t)(warp) << 37 | (uint64_t)(tick) << 27)
#define ROW_OF(r) ((uint32_t)((r) >> 42))
#define WARP_OF(r) ((uint32_t)((r) >> 37) & 31)
#define TICK_OF(r) ((uint32_t)((r) >> 27) & TICK_MASK)

static Page *page_at(Check *c, uint64_t number) {
    Page *p = __atomic_load_n(&c->pages[number], __ATOMIC_ACQUIRE);
    if (!p) {
        Page *made = calloc(1, sizeof *made), *there = NULL;
        if (__atomic_compare_exchange_n(&c->pages[number], &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            p = made;
            do p->after = __atomic_load_n(&c->made, __ATOMIC_RELAXED);
            while (!__sync_bool_compare_and_swap(&c->made, p->after, p));
        } else {
            free(made);
            p = there;
        }
    }
    while (__atomic_exchange_n(&p->lock, 1, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
    if (p->launch != c->launch) {
        memset(p->last, 0, sizeof p->last);
        memset(p->reader, 0, sizeof p->reader);
        p->launch = c->launch;
    }
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
    uint64_t *last = &p->last[word], *reader = &p->reader[word];
    if (load) {
        if (*last && !(*last & READ)) against(a, *last, mine);
        note_reader(a->s, last, reader, mine);
        return;
    }
    against(a, *last, mine);
    against(a, *reader, mine);
    if (!(BYTES_OF(*reader) & ~BYTES_OF(mine))) *reader = 0;
    *last = lw_last(*last, mine, *last >> 27 == mine >> 27);
}

void lw_global(Access *a) {
    BlockState *s = a->s;
    Check *c = s->check;
    const Site *site = a->site;
    bool load = site->kind == IS_LOAD;
    uint32_t flags = (load ? READ : 0) | (site->scope ? STRONG : 0) | (!load && site->scope == 1 ? OF_BLOCK : 0);
    uint64_t up = UP(s->segment, a->warp, s->tick - s->base);
    Page *page = NULL;
    uint64_t here = ~0ull;
    a->memory = NULL;
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
            uint32_t low = offset > at ? (uint32_t)(offset - at) : 0, high = end - at < 4 ? (uint32_t)(end - at) : 4;
            uint32_t bytes = ((1u << high) - 1) & ~((1u << low) - 1);
            a->address = c->arena + at + low;
            a->part = (uint32_t)(at + low - offset);
            one_word(a, page, (uint32_t)(at % PAGE_BYTES / 4), up | LOW(a->lane, site->line, bytes, flags), load);
        }
    }
    if (page) leave(page);
}

void lw_forget_pages(Check *c) {
    for (Page *p = c->made, *after; p; p = after) {
        after = p->after;
        free(p);
    }
    free(c->pages);
    c->pages = NULL;
    c->made = NULL;
}

void lw_page_room(Check *c) {
    if (!c->pages) c->pages = calloc(c->arena_size / PAGE_BYTES + 1, sizeof *c->pages);
}
