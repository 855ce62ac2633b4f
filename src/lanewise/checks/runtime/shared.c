/* Races in the shared memory of a block. Each word has two records: its last write (or, where none of this phase is
 * known, a second reader) and a reader. A phase lasts from one barrier of the whole block to the next; reads of a phase
 * without writes are only listed, and the list is thrown away with the phase. */
#include "check.h"

#define UP(tick, warp) ((uint64_t)(tick) << 32 | (uint64_t)(warp) << 27)
#define TICK_OF(r) ((uint32_t)((r) >> 32))
#define WARP_OF(r) ((uint32_t)((r) >> 27) & 31)
#define SAME_THREAD(a, b) (!(((a) ^ (b)) >> 22 & 1023))

void lw_shared_room(BlockState *s, uint64_t bytes) {
    uint32_t words = (uint32_t)(bytes + 3) / 4;
    if (!s->list) s->list = malloc(LIST_ROOM * sizeof *s->list);
    if (words <= s->shared_words) return;
    free(s->last);
    free(s->reader);
    s->last = calloc(words + LANES, sizeof *s->last);
    s->reader = calloc(words + LANES, sizeof *s->reader);
    s->shared_words = words;
}

/* Nothing is listed from here to the end of the phase. */
static void close_list(BlockState *s) {
    s->next = s->end = s->list;
    s->closed = true;
}

/* The list begins, and with it a stretch of one tick. */
void lw_empty_list(BlockState *s) {
    s->next = s->list;
    s->end = s->list + LIST_ROOM - LONGEST_ENTRY;
    s->looked = s->list;
    s->listed_tick = s->tick;
    s->closed = false;
    s->read_low = s->write_low = INT64_MAX;
    s->read_high = s->write_high = 0;
    if (s->copying_count) close_list(s); /* what is read now is compared with copies of any phase */
}

static Earlier earlier(const BlockState *s, uint64_t r) {
    return (Earlier){s->block, WARP_OF(r), LANE_OF(r), LINE_OF(r), TICK_OF(r), (uint32_t)r & FLAGS, true, false, false};
}

static void against(const Access *a, uint64_t r, uint64_t mine) {
    if (TICK_OF(r) < a->s->all || !(BYTES_OF(r) & BYTES_OF(mine))) return;
    Earlier e = earlier(a->s, r);
    if (r & OF_LANES) {
        e.other_lane = true;
        if (e.warp == a->warp) return; /* which of its lanes wrote these bytes is not known */
    }
    if (!SAME_THREAD(r, mine)) {
        lw_conflict(a, &e);
        return;
    }
    if (!(r & READ) || !(r & (MORE_LANES | MORE_WARPS))) return;
    e.other_lane = r & MORE_LANES;
    e.other_warp = r & MORE_WARPS;
    lw_conflict(a, &e);
}

static void note_reader(BlockState *s, uint32_t word, uint64_t mine) {
    uint64_t r = s->reader[word];
    uint32_t v = WARP_OF(mine), u = WARP_OF(r);
    if (TICK_OF(r) >= s->all && !(r & READ) && mine & STRONG) return; /* see lw_second_strong */
    if (!(r & READ)) r = 0;
    if (TICK_OF(r) < s->all || (SAME_THREAD(r, mine) && !(r & (MORE_LANES | MORE_WARPS)))) {
        if (r >> 22 != mine >> 22 || r & STRONG || !(mine & STRONG)) s->reader[word] = mine;
        return;
    }
    if (lw_in_step(s, v, LANE_OF(mine), u, LANE_OF(r), TICK_OF(r)) && !SAME_THREAD(r, mine)) {
        s->reader[word] = mine;
        return;
    }
    if (u == v) {
        if (SAME_THREAD(r, mine)) return;
        if (BYTES_OF(r) & BYTES_OF(mine)) s->reader[word] = r | MORE_LANES;
        else if (TICK_OF(r) == TICK_OF(mine)) s->reader[word] = r | BYTES(BYTES_OF(mine)) | OF_LANES;
        return;
    }
    uint64_t second = s->last[word];
    if (TICK_OF(second) < s->all || (second & READ && WARP_OF(second) == v))
        s->last[word] = mine;
    else if (!(second & READ))
        s->reader[word] = r | MORE_WARPS;
}

static void read_word(Access *a, uint32_t word, uint64_t mine) {
    uint64_t last = a->s->last[word];
    if (!(last & READ)) against(a, last, mine);
    note_reader(a->s, word, mine);
}

static void begin_copy(BlockState *s, uint32_t warp, uint32_t lane, uint32_t word) {
    if (s->copying_count == s->copying_room) {
        s->copying_room = s->copying_room ? 2 * s->copying_room : 256;
        s->copying = realloc(s->copying, s->copying_room * sizeof *s->copying);
    }
    s->copying[s->copying_count++] = (Copying){word, s->warp[warp].group[lane], (uint8_t)warp, (uint8_t)lane};
}

/* Lanes commit a group of copies, or have waited: what has landed was written now. */
void lw_copies(Warp x, Worker w, uint32_t mask, uint32_t what, uint32_t pending) {
    (void)w;
    BlockState *s = state_of(x);
    uint32_t v = warp_of(x), left = 0;
    WarpState *ws = &s->warp[v];
    if (what == COMMITTED) {
        for (uint32_t rest = mask; rest; rest &= rest - 1) ws->group[__builtin_ctz(rest)]++;
        return;
    }
    for (uint32_t i = 0; i < s->copying_count; i++) {
        const Copying c = s->copying[i];
        bool waited = c.warp == v && mask >> c.lane & 1 && (what == LANDED || c.group + pending < ws->group[c.lane]);
        uint64_t *last = &s->last[c.word];
        if (!waited) s->copying[left++] = c;
        else if (TICK_OF(*last) == NOT_LANDED && WARP_OF(*last) == v && LANE_OF(*last) == c.lane)
            *last = UP(s->tick, v) | (*last & 0x7ffffff);
    }
    s->copying_count = left;
}

static void write_word(Access *a, uint32_t word, uint64_t mine) {
    BlockState *s = a->s;
    against(a, s->last[word], mine);
    against(a, s->reader[word], mine);
    if (lw_second_strong(&s->last[word], &s->reader[word], UP(s->all, 0), mine)) return;
    if (!(BYTES_OF(s->reader[word]) & ~BYTES_OF(mine))) s->reader[word] = 0;
    s->last[word] = lw_last(s->last[word], mine, s->last[word] >> 27 == mine >> 27);
}

/* The words of one lane's access, with the bytes of each that are touched. */
#define EACH_WORD(offset, size, words, body)                                                                           \
    for (uint32_t first_ = (uint32_t)(offset), end_ = first_ + (size), word = first_ / 4; word * 4 < end_; word++) {   \
        if (word >= (words)) break;                                                                                    \
        uint32_t low_ = first_ > word * 4 ? first_ - word * 4 : 0, high_ = end_ - word * 4 < 4 ? end_ - word * 4 : 4;  \
        uint32_t bytes = ((1u << high_) - 1) & ~((1u << low_) - 1);                                                    \
        body                                                                                                           \
    }

static void widen(int64_t *low, int64_t *high, int64_t first, int64_t end) {
    if (first < *low) *low = first;
    if (end > *high) *high = end;
}

/* The bytes that the list reads, as far as it has grown since the last look. */
static void look(BlockState *s) {
    for (const Brief *b = s->looked; b < s->next; b++) {
        uint32_t what = b->what & ((1u << WARP_SHIFT) - 1);
        if (what == A_MASK) {
            const Brief *own = b + 1;
            const int32_t *offsets = (const int32_t *)(own + 1);
            for (uint32_t rest = own->offset; rest; rest &= rest - 1) {
                int64_t at = (uint32_t)offsets[__builtin_ctz(rest)];
                widen(&s->read_low, &s->read_high, at, at + s->check->sites[b->offset].bytes);
            }
            b += 1 + LANES / 2;
        } else {
            const int64_t at = (int32_t)b->offset;
            widen(&s->read_low, &s->read_high, at + s->check->sites[what].nearest,
                  at + s->check->sites[what].farthest + s->check->sites[what].bytes);
        }
    }
    s->looked = s->next;
}

static bool overlaps(const BlockState *s) { return s->read_low < s->write_high && s->write_low < s->read_high; }

/* A read of the list becomes a record. All of the list are of the tick that it began with, as are the writes that it is
 * compared with: none of them is ordered after the other. */
static void listed(BlockState *s, uint32_t number, uint32_t warp, uint32_t mask, uint32_t offset,
                   const int32_t *distances, bool compare) {
    const Site *site = &s->check->sites[number];
    uint64_t up = UP(s->listed_tick, warp), at[LANES];
    uint32_t flags = READ | (site->scope ? STRONG : 0);
    for (uint32_t i = 0; i < LANES; i++) at[i] = offset + (uint32_t)distances[i];
    Access a = {.s = s, .site = site, .number = number, .warp = warp, .mask = mask, .active = mask, .at = at};
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        a.lane = (uint32_t)__builtin_ctz(rest);
        EACH_WORD((uint32_t)at[a.lane], site->bytes, s->shared_words, {
            uint64_t mine = up | LOW(a.lane, site->line, bytes, flags);
            a.address = word * 4 + low_;
            if (compare) read_word(&a, word, mine);
            else note_reader(s, word, mine);
        })
    }
}

/* Make records of the list, and begin it anew. */
void lw_flush_reads(BlockState *s) {
    look(s);
    bool compare = overlaps(s);
    int64_t low = s->write_low, high = s->write_high;
    for (const Brief *b = s->list; b < s->next; b++) {
        uint32_t what = b->what & ((1u << WARP_SHIFT) - 1), warp = b->what >> WARP_SHIFT;
        if (what == A_MASK) {
            const Brief *own = b + 1;
            listed(s, b->offset, warp, own->offset, 0, (const int32_t *)(own + 1), compare);
            b += 1 + LANES / 2;
        } else {
            listed(s, what, warp, ~0u, b->offset, s->check->distances[what], compare);
        }
    }
    lw_empty_list(s);
    s->write_low = low;
    s->write_high = high;
}

/* A synchronising event of a part of the block: what is listed was before it. */
void lw_listed_tick(BlockState *s) {
    if (s->closed) return;
    if (s->next > s->list) lw_flush_reads(s);
    s->listed_tick = s->tick + 1;
}

/* All of the block comes in step: what only read, or was read apart from what was written, is of no more interest. */
void lw_end_phase(BlockState *s) {
    if (s->closed || s->next == s->list) return;
    look(s);
    if (overlaps(s)) lw_flush_reads(s);
}

static void list(const Access *a) {
    BlockState *s = a->s;
    *s->next++ = (Brief){A_MASK | a->warp << WARP_SHIFT, a->number};
    *s->next++ = (Brief){0, a->mask};
    int32_t *offsets = (int32_t *)s->next;
    for (uint32_t i = 0; i < LANES; i++) offsets[i] = (int32_t)a->at[i];
    s->next += LANES / 2;
}

/* A write while reads are listed: they are compared with it now if they may be of the same bytes. */
static void note_write(const Access *a) {
    BlockState *s = a->s;
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        int64_t at = (uint32_t)a->at[__builtin_ctz(rest)];
        widen(&s->write_low, &s->write_high, at, at + a->site->bytes);
    }
    look(s);
    if (!overlaps(s)) return;
    s->write_low = INT64_MAX; /* what was written before it has been compared, or is apart */
    s->write_high = 0;
    lw_flush_reads(s);
    close_list(s);
}

/* The common case, for all lanes at once: a full warp, a word each, all of them new in this phase. */
static bool whole_words(const Access *a, uint32_t flags) {
    BlockState *s = a->s;
    const Site *site = a->site;
    if (a->mask != ~0u || site->bytes != 4 || site->kind == IS_ATOMIC) return false;
    uint32_t first = (uint32_t)a->at[0] / 4, all = s->all, old = 0, step = (uint32_t)(a->at[1] - a->at[0]);
    bool load = site->kind == IS_LOAD;
    for (uint32_t i = 0; i < LANES; i++) old |= (uint32_t)a->at[i] ^ ((uint32_t)a->at[0] + i * step);
    if (old || !step || a->at[0] % 4 || step % 4) return false;
    int32_t words = (int32_t)step / 4;
    int64_t end = (int64_t)first + 31 * words;
    if (first >= s->shared_words || end < 0 || end >= s->shared_words) return false;
    uint64_t *last = s->last + first, *reader = s->reader + first, limit = UP(all, 0);
    uint64_t mine = UP(s->tick, a->warp) | LOW(0, site->line, 15, flags);
    uint64_t busy = 0;
    if (words == 1) {
        for (uint32_t i = 0; i < LANES; i++) busy |= (uint64_t)(last[i] >= limit) | (uint64_t)(reader[i] >= limit);
        if (busy) return false;
        uint64_t *to = load ? reader : last;
        for (uint32_t i = 0; i < LANES; i++) to[i] = mine + ((uint64_t)i << 22);
        return true;
    }
    for (int32_t i = 0; i < LANES; i++) busy |= (last[i * words] >= limit) | (reader[i * words] >= limit);
    if (busy) return false;
    uint64_t *to = load ? reader : last;
    for (int32_t i = 0; i < LANES; i++) to[i * words] = mine + ((uint64_t)i << 22);
    return true;
}

void lw_shared(Access *a) {
    BlockState *s = a->s;
    const Site *site = a->site;
    bool load = site->kind == IS_LOAD;
    uint32_t flags = (load ? READ : 0) | (site->scope ? STRONG : 0);
    WarpState *ws = &s->warp[a->warp];
    if (!ws->ran) ws->ran = calloc(MOST_LINES, sizeof *ws->ran);
    ws->ran[site->line] = a->active;
    if (!s->closed) {
        if (load && !site->scope) {
            if (s->next >= s->end) lw_flush_reads(s);
            list(a);
            return;
        }
        if (!load) note_write(a);
        if (site->flags & IS_ASYNC && !s->closed) {
            lw_flush_reads(s);
            close_list(s);
        }
    }
    if (!(site->flags & IS_ASYNC) && whole_words(a, flags)) return;
    bool copies = site->flags & IS_ASYNC;
    uint64_t up = UP(copies ? NOT_LANDED : s->tick, a->warp), limit = UP(s->all, 0);
    bool settles = site->kind == IS_ATOMIC && site->bytes == 4;
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        a->lane = (uint32_t)__builtin_ctz(rest);
        uint32_t offset = (uint32_t)a->at[a->lane], at = offset / 4;
        if (settles && at < s->shared_words && lw_settled(s->last[at], s->reader[at], limit)) continue;
        EACH_WORD(offset, site->bytes, s->shared_words, {
            uint64_t mine = up | LOW(a->lane, site->line, bytes, flags);
            a->address = word * 4 + low_;
            a->part = word * 4 + low_ - offset;
            if (load) read_word(a, word, mine);
            else write_word(a, word, mine);
            if (copies) begin_copy(s, a->warp, a->lane, word);
        })
    }
}
