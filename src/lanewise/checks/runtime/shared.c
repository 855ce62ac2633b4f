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
    if (!s->log) s->log = malloc(SHARED_LOG * sizeof *s->log);
    if (words <= s->shared_words) return;
    free(s->last);
    free(s->reader);
    s->last = calloc(words, sizeof *s->last);
    s->reader = calloc(words, sizeof *s->reader);
    s->shared_words = words;
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

static void write_word(Access *a, uint32_t word, uint64_t mine) {
    BlockState *s = a->s;
    against(a, s->last[word], mine);
    against(a, s->reader[word], mine);
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

void lw_flush_reads(BlockState *s) {
    for (uint32_t i = 0; i < s->logged; i++) {
        const SharedRead *r = &s->log[i];
        uint64_t up = UP(r->tick, r->warp);
        for (uint32_t rest = r->mask; rest; rest &= rest - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(rest);
            EACH_WORD(r->offsets[lane], r->bytes, s->shared_words,
                      { note_reader(s, word, up | LOW(lane, r->line, bytes, r->flags)); })
        }
    }
    s->logged = 0;
}

static void list(const Access *a, uint32_t flags) {
    BlockState *s = a->s;
    SharedRead *r = &s->log[s->logged++];
    r->tick = s->tick;
    r->mask = a->mask;
    r->line = a->site->line;
    r->warp = (uint8_t)a->warp;
    r->bytes = a->site->bytes;
    r->flags = (uint8_t)flags;
    for (uint32_t i = 0; i < LANES; i++) r->offsets[i] = (uint32_t)a->at[i];
}

void lw_shared(Access *a) {
    BlockState *s = a->s;
    const Site *site = a->site;
    bool load = site->kind == IS_LOAD;
    uint32_t flags = (load ? READ : 0) | (site->scope ? STRONG : 0);
    WarpState *ws = &s->warp[a->warp];
    if (!ws->ran) ws->ran = calloc(MOST_LINES, sizeof *ws->ran);
    ws->ran[site->line] = a->active;
    if (load && !s->wrote) {
        if (s->logged < SHARED_LOG) {
            list(a, flags);
            return;
        }
        lw_flush_reads(s);
        list(a, flags);
        return;
    }
    if (!s->wrote) {
        lw_flush_reads(s);
        s->wrote = true;
    }
    uint64_t up = UP(s->tick, a->warp);
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        a->lane = (uint32_t)__builtin_ctz(rest);
        uint32_t offset = (uint32_t)a->at[a->lane];
        EACH_WORD(offset, site->bytes, s->shared_words, {
            uint64_t mine = up | LOW(a->lane, site->line, bytes, flags);
            a->address = word * 4 + low_;
            a->part = word * 4 + low_ - offset;
            if (load) read_word(a, word, mine);
            else write_word(a, word, mine);
        })
    }
}
