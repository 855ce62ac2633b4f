/* Blocks, barriers and warps in step: what is ordered by them, and threads that wait where others do not. */
#include "check.h"

static const Side NOBODY = {~0u, ~0u, ~0u, ~0u, ~0u, DID_WAIT};

static BlockState *make(Check *c) {
    BlockState *s = calloc(1, sizeof *s);
    s->check = c;
    s->tick = s->all = 1;
    pthread_mutex_lock(&c->lock);
    if (c->state_count == c->state_room) {
        c->state_room = c->state_room ? 2 * c->state_room : 16;
        c->states = realloc(c->states, c->state_room * sizeof *c->states);
    }
    c->states[c->state_count++] = s;
    pthread_mutex_unlock(&c->lock);
    return s;
}

/* A new range of segments: records of global memory name one of them and a few bits of the tick. */
void lw_renew(BlockState *s) {
    Check *c = s->check;
    pthread_mutex_lock(&c->lock);
    if (c->next_segment >> ROW_BITS) lw_forget_records(c);
    uint32_t row = c->next_segment++;
    if (row >= c->segment_room) {
        c->segment_room = c->segment_room ? 2 * c->segment_room : 1024;
        c->segments = realloc(c->segments, c->segment_room * sizeof *c->segments);
    }
    s->base = s->tick;
    s->segment = row;
    c->segments[row].block = s->block;
    c->segments[row].base = s->base;
    pthread_mutex_unlock(&c->lock);
}

static void all_in_step(BlockState *s) {
    if (s->list) lw_end_phase(s);
    s->all = ++s->tick;
    if (s->tick - s->base > TICKS_OF_A_SEGMENT) lw_renew(s);
    if (s->list) lw_empty_list(s);
}

void lw_block(Worker w, Block b, uint64_t begins) {
    Check *c = check_of(w);
    BlockState *s = FIELD(BlockState *, b, BLOCK_NOTES);
    if (!begins) {
        if (s->list) lw_end_phase(s);
        return;
    }
    if (!s) s = FIELD(BlockState *, b, BLOCK_NOTES) = make(c);
    void *launch = FIELD(void *, w, WORKER_LAUNCH);
    s->memory = FIELD(char *, b, BLOCK_SHARED);
    s->next = s->end = s->list; /* of the block before it */
    if (c->races) lw_shared_room(s, FIELD(uint64_t, launch, LAUNCH_SHARED_BYTES));
    s->block = (uint32_t)FIELD(uint64_t, b, BLOCK_LINEAR);
    if (c->initialised)
        lw_undefine_block(s, FIELD(uint64_t, launch, LAUNCH_SHARED_BYTES), FIELD(uint64_t, launch, LAUNCH_LOCAL_BYTES));
    s->acquired_count = s->copying_count = 0;
    if (s->known) memset(s->known, 0, sizeof(uint32_t[MOST_WARPS][MOST_WARPS]));
    all_in_step(s);
    for (uint32_t v = 0; v < c->warps; v++) {
        WarpState *ws = &s->warp[v];
        ws->full = s->tick;
        ws->arrived = ws->waits = 0;
        ws->fenced = false;
        ws->syncing = 0;
        ws->partial_mask = 0;
        ws->open = 0;
        memset(ws->group, 0, sizeof ws->group);
        if (ws->known) memset(ws->known, 0, sizeof(uint32_t[LANES][LANES]));
        memset(ws->fence, 0, sizeof ws->fence);
    }
    lw_renew(s);
}

static Side waiter(const BlockState *s, uint32_t v, uint32_t mask, uint32_t place) {
    return (Side){place_line(s->check, place), place, s->block, v, mask ? (uint32_t)__builtin_ctz(mask) : 0, DID_WAIT};
}

static void tell(BlockState *s, uint32_t what, Side now, Side before, uint32_t mask, uint32_t seen) {
    Found *f = lw_found(s->check, what, AS_ERROR, now, before, (uint64_t)__builtin_popcount(mask));
    if (!f) return;
    f->mask = mask;
    f->seen_mask = seen;
    lw_found_done(s->check);
}

void lw_arrive(Warp x, Worker w, uint32_t id, uint32_t threads, uint32_t mask, uint32_t waits, uint32_t place) {
    (void)w, (void)threads;
    BlockState *s = state_of(x);
    uint32_t v = warp_of(x), missing = alive(x) & ~mask;
    WarpState *ws = &s->warp[v];
    lw_settle(s, v);
    if (!waits) lw_next_tick(s); /* what it does after this is not before the barrier */
    if (ws->partial_mask && !(ws->partial_mask & mask))
        tell(s, FOUND_ARMS, waiter(s, v, mask, place), waiter(s, v, ws->partial_mask, ws->partial_place), mask,
             ws->partial_mask);
    ws->partial_mask = missing ? mask : 0;
    ws->partial_place = place;
    if (missing) tell(s, FOUND_ABSENT, waiter(s, v, mask, place), NOBODY, mask, missing);
    uint16_t bit = (uint16_t)(1u << id);
    ws->arrived |= bit;
    ws->waits = waits ? ws->waits | bit : ws->waits & (uint16_t)~bit;
    ws->arrived_mask[id] = mask;
    ws->arrived_place[id] = place;
    ws->arrive_tick[id] = s->tick;
}

static void partly_in_step(BlockState *s, const bool *in, uint32_t id) {
    uint32_t warps = s->check->warps, joined[MOST_WARPS] = {0};
    if (!s->known) s->known = calloc(MOST_WARPS, sizeof *s->known);
    for (uint32_t p = 0; p < warps; p++) {
        if (!in[p]) continue;
        for (uint32_t u = 0; u < warps; u++)
            if (s->known[p][u] > joined[u]) joined[u] = s->known[p][u];
        uint32_t until = s->warp[p].waits >> id & 1 ? s->tick : s->warp[p].arrive_tick[id];
        if (until > joined[p]) joined[p] = until;
    }
    for (uint32_t p = 0; p < warps; p++)
        if (in[p] && s->warp[p].waits >> id & 1) memcpy(s->known[p], joined, sizeof joined);
}

/* Threads of the block that came to a barrier of all threads at another line, or had returned. */
static void compare_places(BlockState *s, Block b, const bool *in, uint32_t barrier) {
    uint32_t first = ~0u, gone_warp = ~0u, gone_lanes = 0;
    for (uint32_t v = 0; v < s->check->warps; v++) {
        const void *x = (char *)b + BLOCK_WARP_CONTEXTS + v * WARP_SIZE;
        const WarpState *ws = &s->warp[v];
        uint32_t all = FIELD(uint32_t, x, WARP_MASK);
        uint32_t gone = FIELD(uint32_t, x, WARP_STATUS) == STATUS_DONE ? all : FIELD(uint32_t, x, WARP_EXITED) & all;
        if (gone && gone_warp == ~0u) gone_warp = v, gone_lanes = gone;
        if (!in[v]) continue;
        if (first == ~0u) {
            first = v;
            continue;
        }
        const WarpState *fs = &s->warp[first];
        if (barrier == 0 && place_line(s->check, fs->arrived_place[barrier]) != place_line(s->check, ws->arrived_place[barrier]))
            tell(s, FOUND_PLACES, waiter(s, v, ws->arrived_mask[barrier], ws->arrived_place[barrier]),
                 waiter(s, first, fs->arrived_mask[barrier], fs->arrived_place[barrier]), ws->arrived_mask[barrier], fs->arrived_mask[barrier]);
    }
    if (gone_warp == ~0u || first == ~0u) return;
    Side gone = {~0u, ~0u, s->block, gone_warp, (uint32_t)__builtin_ctz(gone_lanes), DID_WAIT};
    const WarpState *fs = &s->warp[first];
    tell(s, FOUND_EXITED, waiter(s, first, fs->arrived_mask[barrier], fs->arrived_place[barrier]), gone, gone_lanes, gone_lanes);
}

void lw_release(Worker w, Block b, uint64_t id) {
    (void)w;
    BlockState *s = FIELD(BlockState *, b, BLOCK_NOTES);
    uint32_t warps = s->check->warps, whole = 0;
    bool in[MOST_WARPS] = {false}, all_threads = FIELD(uint32_t, b, BLOCK_BARRIERS + id * BLOCK_BARRIER_SIZE + 4) == 0;
    for (uint32_t v = 0; v < warps; v++) {
        WarpState *ws = &s->warp[v];
        in[v] = ws->arrived >> id & 1;
        whole += in[v] && ws->waits >> id & 1 && !ws->partial_mask;
    }
    if (all_threads) compare_places(s, b, in, (uint32_t)id);
    if (whole == warps) {
        all_in_step(s);
    } else {
        lw_next_tick(s);
        partly_in_step(s, in, (uint32_t)id);
    }
    for (uint32_t v = 0; v < warps; v++) {
        if (!in[v]) continue;
        WarpState *ws = &s->warp[v];
        ws->arrived &= (uint16_t)~(1u << id);
        if (ws->waits >> id & 1 && !ws->partial_mask) ws->full = s->tick;
    }
}

static void lanes_in_step(BlockState *s, WarpState *ws, uint32_t lanes) {
    uint32_t joined[LANES] = {0};
    if (!ws->known) ws->known = calloc(LANES, sizeof *ws->known);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t m = (uint32_t)__builtin_ctz(rest);
        for (uint32_t l = 0; l < LANES; l++)
            if (ws->known[m][l] > joined[l]) joined[l] = ws->known[m][l];
        joined[m] = s->tick;
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        memcpy(ws->known[__builtin_ctz(rest)], joined, sizeof joined);
}

void lw_warp_sync(Warp x, Worker w, uint32_t place, uint32_t active, uint32_t orders, const uint32_t *members) {
    (void)w;
    BlockState *s = state_of(x);
    uint32_t v = warp_of(x), here = alive(x), outside = 0, absent = 0, seen = 0;
    WarpState *ws = &s->warp[v];
    bool one = true;
    if (!active) return; /* of a guarded one: no lane's predicate holds */
    lw_settle(s, v);
    uint32_t first = members[__builtin_ctz(active)];
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        uint32_t m = (uint32_t)__builtin_ctz(rest), named = members[m];
        one &= named == first;
        if (!(named >> m & 1)) outside |= 1u << m, seen = named;
        if (named & here & ~active) absent |= named & here & ~active, seen = outside ? seen : named;
    }
    if (outside) tell(s, FOUND_MASK, waiter(s, v, outside, place), NOBODY, outside, seen);
    else if (absent && !orders) tell(s, FOUND_MASK, waiter(s, v, absent, place), NOBODY, absent, seen);
    if (!orders) return;
    lw_next_tick(s);
    if (one && absent) { /* bar.warp.sync in arms of a branch: it is one where the masks are the same */
        bool joins = ws->syncing == first && !(ws->synced & active);
        ws->syncing = first;
        ws->synced = joins ? ws->synced | active : active;
        active = ws->synced;
        if (first & here & ~active) return;
        ws->syncing = 0;
        lanes_in_step(s, ws, active & here);
        return;
    }
    if (one && (first & active) == here) {
        ws->full = s->tick;
        return;
    }
    for (uint32_t rest = active; rest;) {
        uint32_t m = (uint32_t)__builtin_ctz(rest), group = members[m] & active;
        lanes_in_step(s, ws, group | 1u << m);
        rest &= ~(group | 1u << m);
    }
}
