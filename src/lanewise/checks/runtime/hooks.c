/* What kernels call, and what Python calls: a `Check` listens to one launch after the other. */
#include "check.h"

#define API __attribute__((visibility("default")))

static Side side_of(const BlockState *s, uint32_t v, const Check *c, uint32_t site, uint32_t mask) {
    static const uint32_t did[] = {[IS_LOAD] = DID_READ, [IS_STORE] = DID_WRITE, [IS_ATOMIC] = DID_ATOMIC};
    bool place = site >= PLACE_BASE;
    return (Side){place ? place_line(c, site) : c->sites[site].line, site, s->block, v, (uint32_t)__builtin_ctz(mask),
                  place ? DID_READ : did[c->sites[site].kind]};
}

static const Side NOBODY = {~0u, ~0u, ~0u, ~0u, ~0u, DID_WAIT};

/* The lanes that leave the variable they mean. */
static void lw_range(Warp x, Worker w, uint32_t number, uint32_t mask, uint32_t active, const uint64_t *at) {
    (void)w, (void)active;
    BlockState *s = state_of(x);
    const Site *site = &s->check->sites[number];
    uint32_t out = 0, v = warp_of(x);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        int64_t first = (int32_t)at[lane];
        if (first < site->low || first + site->bytes > site->high) out |= 1u << lane;
    }
    if (!out) return;
    Found *f = lw_found(s->check, FOUND_RANGE, AS_ERROR, side_of(s, v, s->check, number, out), NOBODY,
                        (uint64_t)__builtin_popcount(out));
    if (!f) return;
    f->mask = out;
    f->bytes = site->bytes;
    memcpy(f->addresses, at, sizeof f->addresses);
    lw_found_done(s->check);
}

static void part_of(Access *a, uint32_t mask, uint64_t window, uint32_t site, void (*check)(Access *)) {
    uint64_t offsets[LANES];
    if (!mask) return;
    Access part = *a;
    part.mask = mask;
    part.number = a->number + site;
    part.site = a->site + site;
    for (uint32_t i = 0; i < LANES; i++) offsets[i] = a->at[i] - window;
    part.at = offsets;
    check(&part);
}

static void lw_access(Warp x, Worker w, uint32_t number, uint32_t mask, uint32_t active, const uint64_t *at,
                      const void *values) {
    (void)w;
    if (!mask) return;
    BlockState *s = state_of(x);
    Check *c = s->check;
    const Site *site = &c->sites[number];
    uint32_t v = warp_of(x);
    lw_settle(s, v);
    Access a = {.s = s, .site = site, .number = number, .warp = v, .mask = mask, .active = active, .at = at,
                .values = values, .memory = s->memory};
    if (site->flags & IS_GENERIC) {
        uint32_t shared = 0, local = 0;
        for (uint32_t i = 0; i < LANES; i++) {
            shared |= (uint32_t)(at[i] - SHARED_WINDOW_BASE < WINDOW_BYTES_EACH) << i;
            local |= (uint32_t)(at[i] - LOCAL_WINDOW_BASE < WINDOW_BYTES_EACH) << i;
        }
        part_of(&a, mask & shared, SHARED_WINDOW_BASE, 1, lw_shared);
        a.mask &= ~(shared | local);
        if (!a.mask) return;
        lw_global(&a);
    } else if (site->space == IN_SHARED) {
        lw_shared(&a);
    } else if (site->space == IN_GLOBAL) {
        lw_global(&a);
    }
    if (!site->scope) return;
    bool publishes = site->kind != IS_LOAD && (s->warp[v].fenced || site->flags & IS_RELEASE);
    bool reads = site->kind != IS_STORE;
    if (!publishes && !reads && !__atomic_load_n(&c->strong, __ATOMIC_RELAXED)) return;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        bool shared = site->space == IN_SHARED || at[lane] - SHARED_WINDOW_BASE < WINDOW_BYTES_EACH;
        uint64_t key = lw_key(s, at[lane], shared);
        lw_strong(s, v, lane, site, key);
        if (reads) lw_opens(s, v, lane, site, key);
    }
}

static uint32_t lw_fault(Warp x, Worker w, uint32_t site, uint32_t code, uint32_t mask, uint32_t bytes) {
    BlockState *s = state_of(x);
    Found *f = lw_found(s->check, FOUND_FAULT, code, side_of(s, warp_of(x), s->check, site, mask), NOBODY,
                        (uint64_t)__builtin_popcount(mask));
    if (!f) return 1;
    f->code = code;
    f->bytes = bytes;
    f->mask = mask;
    memcpy(f->addresses, (char *)w + WORKER_FAULT_ADDRESSES, sizeof f->addresses);
    f->address = f->addresses[__builtin_ctz(mask)];
    lw_found_done(s->check);
    return 1;
}

API void lw_check_define(Check *c, uint64_t address, uint64_t size) { lw_define(c, address, size, true); }
API void lw_check_forget(Check *c, uint64_t address, uint64_t size) { lw_define(c, address, size, false); }
API void lw_check_copy(Check *c, uint64_t to, uint64_t from, uint64_t size) { lw_copy_defined(c, to, from, size); }
API uint64_t lw_check_undefined(Check *c, uint64_t address, uint64_t size) {
    return lw_first_undefined(c, address, size);
}
/* The instructions of the last launch that wrote undefined bytes. */
API const Undefined *lw_check_writers(const Check *c, uint32_t *count) {
    *count = c->undefined_count;
    return c->undefined;
}
API uint32_t lw_check_spoiled(const Check *c) { return c->spoiled; }

API Check *lw_check_new(uint64_t arena, uint64_t size) {
    Check *c = calloc(1, sizeof *c);
    pthread_mutexattr_t recursive; /* a strong access may begin a segment */
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&c->lock, &recursive);
    c->arena = arena;
    c->arena_size = size;
    c->pieces = calloc(size / PIECE_BYTES + 1, sizeof *c->pieces);
    return c;
}

/* The next launch: `warps` of a block; what is looked for. Returns the table of functions. */
API void *lw_check_begin(Check *c, const Site *sites, uint32_t site_count, const uint16_t *places, const Distances *distances,
                         uint32_t warps, uint32_t races, uint32_t bounds, uint32_t initialised) {
    c->sites = sites;
    c->site_count = site_count;
    c->places = places;
    c->warps = warps;
    c->races = races;
    c->found_count = c->found_lost = 0;
    c->distances = distances;
    if (!c->next_segment) c->next_segment = 1;
    c->first_segment = c->next_segment;
    c->initialised = initialised;
    c->undefined_count = 0;
    if (races) lw_page_room(c);
    void **hooks = c->hooks;
    hooks[HOOKS_ACCESS / 8] = (void *)lw_access;
    hooks[HOOKS_FAULT / 8] = bounds ? (void *)lw_fault : NULL;
    hooks[HOOKS_BLOCK / 8] = (void *)lw_block;
    hooks[HOOKS_ARRIVE / 8] = (void *)lw_arrive;
    hooks[HOOKS_RELEASE / 8] = (void *)lw_release;
    hooks[HOOKS_WARP_SYNC / 8] = (void *)lw_warp_sync;
    hooks[HOOKS_FENCE / 8] = (void *)lw_fence;
    hooks[HOOKS_RANGE / 8] = (void *)lw_range;
    hooks[HOOKS_MEET / 8] = (void *)lw_meet;
    hooks[HOOKS_COPIES / 8] = (void *)lw_copies;
    hooks[HOOKS_LOADED / 8] = (void *)lw_loaded;
    hooks[HOOKS_STORED / 8] = (void *)lw_stored;
    hooks[HOOKS_UNDEFINED / 8] = (void *)lw_undefined;
    return c->hooks;
}

/* What the launch that is over has touched in global memory, in no order; `threads` of a block. */
API const Span *lw_check_spans(Check *c, uint32_t threads, uint32_t *count) {
    lw_find_spans(c, threads);
    *count = c->span_count;
    return c->spans;
}

/* The launch is over. Returns what was found, valid until the next one begins. */
API const Found *lw_check_end(Check *c, uint32_t *count, uint32_t *lost) {
    for (uint32_t i = 0; i < c->state_count; i++) {
        BlockState *s = c->states[i];
        for (uint32_t v = 0; v < MOST_WARPS; v++) {
            free(s->warp[v].known);
            free(s->warp[v].ran);
        }
        free(s->known);
        free(s->last);
        free(s->reader);
        free(s->list);
        free(s->copying);
        free(s->acquired);
        free(s->shared_defined);
        free(s->local_defined);
        free(s);
    }
    c->state_count = 0;
    lw_forget_objects(c);
    *count = c->found_count;
    *lost = c->found_lost;
    return c->found;
}

API void lw_check_free(Check *c) {
    lw_forget_pages(c);
    lw_forget_pieces(c);
    free(c->undefined);
    free(c->states);
    free(c->segments);
    free(c->found);
    free(c->spans);
    free(c);
}
