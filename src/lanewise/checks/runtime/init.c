/* Bytes that were never written: one bit a byte of global, shared and local memory says that it is defined. Of registers
 * the kernel itself keeps account: one bit a byte says that it is not; they come here eight at a time, one lane a byte. */
#include "check.h"

enum { PIECE = PIECE_BYTES };

static uint64_t *piece_of(Check *c, uint64_t offset, bool make) {
    uint64_t **place = &c->pieces[offset / PIECE];
    uint64_t *there = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (there || !make) return there;
    uint64_t *made = calloc(PIECE / 64 + 1, sizeof *made); /* one word more: the next of all that were made */
    if (!__atomic_compare_exchange_n(place, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        free(made);
        return there;
    }
    uint64_t *first = __atomic_load_n(&c->made, __ATOMIC_RELAXED);
    do made[PIECE / 64] = (uint64_t)(uintptr_t)first;
    while (!__atomic_compare_exchange_n(&c->made, &first, made, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return made;
}

void lw_forget_pieces(Check *c) {
    for (uint64_t *piece = c->made, *after; piece; piece = after) {
        after = (uint64_t *)(uintptr_t)piece[PIECE / 64];
        free(piece);
    }
    free(c->pieces);
}

static uint64_t bits_from(uint32_t first, uint32_t count) {
    return (count >= 64 ? ~0ull : (1ull << count) - 1) << first;
}

/* Calls `body` for each word of bits of [offset, offset + size): word `index` of `bits`, the bits `mask` in it. */
#define EACH_BITS(offset, size, body)                                                                                  \
    for (uint64_t at_ = (offset), end_ = at_ + (size); at_ < end_;) {                                                  \
        uint64_t index = at_ / 64, first_ = at_ % 64, count_ = end_ - at_ < 64 - first_ ? end_ - at_ : 64 - first_;    \
        uint64_t mask = bits_from((uint32_t)first_, (uint32_t)count_);                                                 \
        body at_ += count_;                                                                                            \
    }

void lw_define(Check *c, uint64_t address, uint64_t size, bool defined) {
    uint64_t offset = address - c->arena;
    if (offset >= c->arena_size || size > c->arena_size - offset) return;
    EACH_BITS(offset, size, {
        uint64_t *bits = piece_of(c, index * 64, true) + index % (PIECE / 64);
        if (defined) __atomic_fetch_or(bits, mask, __ATOMIC_RELAXED);
        else __atomic_fetch_and(bits, ~mask, __ATOMIC_RELAXED);
    })
}

/* The first byte of [address, address + size) that is not defined, as an offset; `size` where all are. */
uint64_t lw_first_undefined(Check *c, uint64_t address, uint64_t size) {
    uint64_t offset = address - c->arena;
    if (offset >= c->arena_size || size > c->arena_size - offset) return size;
    EACH_BITS(offset, size, {
        uint64_t *piece = piece_of(c, index * 64, false);
        uint64_t missing = mask & ~(piece ? piece[index % (PIECE / 64)] : 0);
        if (missing) return index * 64 + (uint64_t)__builtin_ctzll(missing) - offset;
    })
    return size;
}

/* The same bits for bytes that come from others of device memory. */
void lw_copy_defined(Check *c, uint64_t to, uint64_t from, uint64_t size) {
    for (uint64_t i = 0; i < size; i++) lw_define(c, to + i, 1, lw_first_undefined(c, from + i, 1) == 1);
}

/* --- one lane's bytes: 1 bits are not defined */
static uint32_t missing_of(const uint64_t *bits, uint64_t offset, uint32_t size) {
    uint32_t result = 0, done = 0;
    EACH_BITS(offset, size, {
        uint64_t missing = ~bits[index] & mask;
        result |= (uint32_t)(missing >> first_) << done;
        done += (uint32_t)count_;
    })
    return result;
}

static int64_t set_of(uint64_t *bits, uint64_t offset, uint32_t size, uint32_t missing, bool shared_by_threads) {
    uint32_t done = 0;
    int64_t filled = 0; /* bytes more that are defined */
    EACH_BITS(offset, size, {
        uint64_t gone = ((uint64_t)(missing >> done) << first_) & mask;
        uint64_t set = mask & ~gone;
        if (shared_by_threads) {
            if (set) __atomic_fetch_or(&bits[index], set, __ATOMIC_RELAXED);
            if (gone) __atomic_fetch_and(&bits[index], ~gone, __ATOMIC_RELAXED);
        } else {
            filled += __builtin_popcountll(set) - __builtin_popcountll(bits[index] & mask);
            bits[index] = (bits[index] & ~mask) | set;
        }
        done += (uint32_t)count_;
    })
    return filled;
}

typedef struct {
    uint64_t *bits;
    uint64_t offset;
    bool global;
} Where;

/* Where the bits of a lane's access are; null bits where it goes nowhere that is known. */
static Where where_of(BlockState *s, uint32_t v, uint32_t lane, const Site *site, uint64_t at, bool make) {
    Check *c = s->check;
    uint32_t space = site->space;
    if (site->flags & IS_GENERIC) {
        if (at - SHARED_WINDOW_BASE < WINDOW_BYTES_EACH) space = IN_SHARED, at -= SHARED_WINDOW_BASE;
        else if (at - LOCAL_WINDOW_BASE < WINDOW_BYTES_EACH) space = IN_LOCAL, at -= LOCAL_WINDOW_BASE;
    }
    if (space == IN_SHARED && at + site->bytes <= s->shared_bytes) return (Where){s->shared_defined, at, false};
    if (space == IN_LOCAL && at + site->bytes <= s->local_bytes) {
        s->local_touched |= 1u << v;
        return (Where){s->local_defined + (uint64_t)v * s->local_words, lane * s->local_bytes + at, false};
    }
    if (space == IN_GLOBAL && at - c->arena < c->arena_size) {
        uint64_t offset = at - c->arena;
        uint64_t *piece = piece_of(c, offset, make);
        if (piece) return (Where){piece, offset % PIECE, true};
        static uint64_t nothing[2];
        return (Where){nothing, 0, true};
    }
    return (Where){NULL, 0, false};
}

static void spread(uint8_t *out, uint32_t lane, const Site *site, uint32_t missing) {
    for (uint32_t k = 0; k * site->element < site->bytes; k++)
        out[k * LANES + lane] = (uint8_t)(missing >> k * site->element & ((1u << site->element) - 1));
}

/* All lanes at once: from the lowest byte to the highest everything in shared memory is defined. */
static bool all_defined(BlockState *s, const Site *site, uint32_t mask, const uint64_t *at) {
    uint64_t low = ~0ull, high = 0;
    if (site->space != IN_SHARED) return false;
    for (uint32_t i = 0; i < LANES; i++) {
        uint64_t here = mask >> i & 1 ? at[i] : at[__builtin_ctz(mask)];
        low = here < low ? here : low;
        high = here > high ? here : high;
    }
    if (high + site->bytes > s->shared_bytes || high - low > 512) return false;
    EACH_BITS(low, high + site->bytes - low, {
        if (~s->shared_defined[index] & mask) return false;
    })
    return true;
}

/* Whether what the lanes mean lies in shared memory, each access at a multiple of its size: in one word of bits. */
static bool in_words(const BlockState *s, const Site *site, uint32_t mask, const uint64_t *at) {
    uint64_t wrong = 0;
    if (site->space != IN_SHARED || site->bytes & (site->bytes - 1)) return false;
    for (uint32_t i = 0; i < LANES; i++)
        wrong |= (mask >> i & 1) && ((at[i] & (site->bytes - 1u)) || at[i] + site->bytes > s->shared_bytes);
    return !wrong;
}

/* The common case of a load, for lanes anywhere: everything is defined. */
static bool each_defined(const BlockState *s, const Site *site, uint32_t mask, const uint64_t *at) {
    uint64_t bytes = bits_from(0, site->bytes), missing = 0;
    if (!in_words(s, site, mask, at)) return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint64_t here = at[__builtin_ctz(rest)];
        missing |= ~(s->shared_defined[here / 64] >> here % 64) & bytes;
    }
    return !missing;
}

/* The common case of a store: all that is stored is defined. */
static bool each_stored(BlockState *s, const Site *site, uint32_t mask, const uint64_t *at, const uint8_t *values) {
    uint64_t bytes = bits_from(0, site->bytes), undefined = 0, word;
    for (uint32_t i = 0; i < LANES * (uint32_t)(site->bytes / site->element); i += 8) {
        memcpy(&word, values + i, sizeof word);
        undefined |= word;
    }
    if (undefined || !in_words(s, site, mask, at)) return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint64_t here = at[__builtin_ctz(rest)], set = bytes << here % 64, *bits = &s->shared_defined[here / 64];
        s->holes -= __builtin_popcountll(set & ~*bits);
        *bits |= set;
    }
    return true;
}

void lw_loaded(Warp x, Worker w, uint32_t number, uint32_t mask, const uint64_t *at, uint8_t *out) {
    (void)w;
    BlockState *s = state_of(x);
    const Site *site = &s->check->sites[number];
    uint32_t v = warp_of(x);
    memset(out, 0, LANES * (size_t)(site->bytes / site->element));
    if (!mask || all_defined(s, site, mask, at) || each_defined(s, site, mask, at)) return;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        Where where = where_of(s, v, lane, site, at[lane], false);
        uint32_t missing = where.bits ? missing_of(where.bits, where.offset, site->bytes) : 0;
        if (missing) spread(out, lane, site, missing);
    }
}

static void remember(BlockState *s, uint32_t v, uint32_t number, uint32_t lane, uint64_t address) {
    Check *c = s->check;
    const Site *site = &c->sites[number];
    c->spoiled = 1;
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = 0; i < c->undefined_count; i++) {
        Undefined *u = &c->undefined[i];
        if (u->site != number) continue;
        if (address < u->low) u->low = address;
        if (address + site->bytes > u->high) u->high = address + site->bytes;
        pthread_mutex_unlock(&c->lock);
        return;
    }
    if (c->undefined_count == c->undefined_room) {
        c->undefined_room = c->undefined_room ? 2 * c->undefined_room : 16;
        c->undefined = realloc(c->undefined, c->undefined_room * sizeof *c->undefined);
    }
    c->undefined[c->undefined_count++] = (Undefined){address, address + site->bytes, number, s->block, v, lane};
    pthread_mutex_unlock(&c->lock);
}

/* A store, or (`way` 1, 2) an atomic: its operand's undefined bytes in `values`, which then get those that memory had. */
void lw_stored(Warp x, Worker w, uint32_t number, uint32_t mask, const uint64_t *at, uint8_t *values, uint32_t way) {
    (void)w;
    BlockState *s = state_of(x);
    const Site *site = &s->check->sites[number];
    uint32_t v = warp_of(x);
    if (!way && each_stored(s, site, mask, at, values)) return;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest), missing = 0;
        for (uint32_t k = 0; k * site->element < site->bytes; k++)
            missing |= (values[k * LANES + lane] & ((1u << site->element) - 1)) << k * site->element;
        Where where = where_of(s, v, lane, site, at[lane], true);
        if (!where.bits) continue;
        if (way) {
            uint32_t before = missing_of(where.bits, where.offset, site->bytes);
            if (way == 1) missing |= before;
            spread(values, lane, site, before);
        }
        if (missing && where.global) remember(s, v, number, lane, at[lane]);
        int64_t filled = set_of(where.bits, where.offset, site->bytes, missing, where.global);
        if (where.bits == s->shared_defined) s->holes -= filled;
    }
}

/* A branch (`what` 0) or an address (1) is decided by a value that is not defined. */
void lw_undefined(Warp x, Worker w, uint32_t place, uint32_t mask, uint32_t what) {
    (void)w;
    BlockState *s = state_of(x);
    Side now = {place_line(s->check, place), place, s->block, warp_of(x), (uint32_t)__builtin_ctz(mask), DID_READ};
    static const Side nobody = {~0u, ~0u, ~0u, ~0u, ~0u, DID_WAIT};
    Found *f = lw_found(s->check, FOUND_UNDEFINED, what, now, nobody, (uint64_t)__builtin_popcount(mask));
    if (!f) return;
    f->mask = mask;
    lw_found_done(s->check);
}

/* A block begins: nothing in its own memory is defined. */
void lw_undefine_block(BlockState *s, uint64_t shared, uint64_t local) {
    Check *c = s->check;
    s->holes = (int64_t)shared;
    if (!s->shared_defined) {
        s->shared_bytes = shared;
        s->local_bytes = local;
        s->local_words = (local * LANES + 63) / 64 + 1;
        s->shared_defined = calloc(shared / 64 + 2, sizeof *s->shared_defined);
        s->local_defined = calloc(s->local_words * c->warps + 1, sizeof *s->local_defined);
        return;
    }
    memset(s->shared_defined, 0, (shared / 64 + 2) * sizeof *s->shared_defined);
    for (uint32_t v = 0; v < c->warps; v++)
        if (s->local_touched >> v & 1)
            memset(s->local_defined + (uint64_t)v * s->local_words, 0, s->local_words * sizeof *s->local_defined);
    s->local_touched = 0;
}
