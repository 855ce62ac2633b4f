/* Happens-before: within a block by ticks, between blocks by what strong accesses publish and read (PTX ISA, memory
 * consistency model: a release pattern is a fence and then a strong write, an acquire pattern a strong read and then a
 * fence). A strong write publishes what its thread knew at its last fence; whoever reads there afterwards knows it. */
#include "check.h"

typedef struct {
    uint32_t block, all, full, tick; /* of the publishing thread, at its fence */
    uint32_t at;                     /* tick of the strong write itself */
    uint8_t warp, lane, scope;
    uint32_t *row;                   /* what its warp knew of others from barriers of a part of the block */
    Acquired *acquired;              /* what it had read of others itself */
    uint32_t acquired_count;
    uint32_t next; /* entry of the same block before this one, plus 1 */
} Published;

struct SyncObject {
    uint64_t key;
    Published *published;
    uint32_t count, room, start; /* start: entries before it were overwritten */
    uint32_t *heads, heads_room; /* last entry of a block, plus 1, by hash */
    SyncObject *after;
};

enum { BUCKETS = 1 << 14, MOST_VISITED = 1024 };

/* Whether what thread (u, l) did at `tick` comes before what (v, m) of the same block does now. */
bool lw_in_step(const BlockState *s, uint32_t v, uint32_t m, uint32_t u, uint32_t l, uint32_t tick) {
    if (tick < s->all) return true;
    if (u != v) return s->known && tick < s->known[v][u];
    if (l == m || tick < s->warp[v].full) return true;
    return l < LANES && s->warp[v].known && tick < s->warp[v].known[m][l];
}

static SyncObject *object_at(Check *c, uint64_t key, bool make) {
    if (!c->objects) {
        if (!make) return NULL;
        c->objects = calloc(BUCKETS, sizeof *c->objects);
    }
    SyncObject **place = &c->objects[(key * 0x9E3779B97F4A7C15ull) >> 50];
    for (; *place; place = &(*place)->after)
        if ((*place)->key == key) return *place;
    if (!make) return NULL;
    SyncObject *o = *place = calloc(1, sizeof *o);
    o->key = key;
    c->object_count++;
    return o;
}

static uint32_t *head_of(SyncObject *o, uint32_t block) {
    uint32_t at = block * 2654435761u & (o->heads_room - 1);
    while (o->heads[at] && o->published[o->heads[at] - 1].block != block) at = (at + 1) & (o->heads_room - 1);
    return &o->heads[at];
}

static void grow(SyncObject *o) {
    o->room = o->room ? 2 * o->room : 8;
    o->published = realloc(o->published, o->room * sizeof *o->published);
    free(o->heads);
    o->heads_room = 4 * o->room;
    o->heads = calloc(o->heads_room, sizeof *o->heads);
    for (uint32_t i = 0; i < o->count; i++) *head_of(o, o->published[i].block) = i + 1;
}

static bool valid(const BlockState *s, const Acquired *q, uint32_t v, uint32_t m) {
    return (q->warp == v && q->lane == m) || lw_in_step(s, v, m, q->warp, q->lane, q->tick);
}

/* `adds`: what is published there already can be read still, and need not be passed on. */
static void publish(BlockState *s, uint32_t v, uint32_t lane, SyncObject *o, uint32_t tick, uint8_t scope, bool adds) {
    if (o->count == o->room) grow(o);
    WarpState *ws = &s->warp[v];
    Published *p = &o->published[o->count];
    *p = (Published){.block = s->block, .all = s->all, .full = ws->full, .tick = tick, .at = s->tick, .warp = (uint8_t)v,
                     .lane = (uint8_t)lane, .scope = scope};
    if (s->known) {
        p->row = malloc(sizeof *s->known);
        memcpy(p->row, s->known[v], sizeof *s->known);
    }
    for (uint32_t i = 0; i < s->acquired_count; i++) {
        if ((adds && s->acquired[i].object == o) || !valid(s, &s->acquired[i], v, lane)) continue;
        if (!p->acquired) p->acquired = malloc(s->acquired_count * sizeof *p->acquired);
        p->acquired[p->acquired_count++] = s->acquired[i];
    }
    uint32_t *head = head_of(o, s->block);
    p->next = *head;
    *head = ++o->count;
}

static void acquire(BlockState *s, uint32_t v, uint32_t lane, const SyncObject *o, bool fenced, uint32_t tick) {
    Acquired now = {o, o->start, o->count, tick, (uint8_t)v, (uint8_t)lane, fenced};
    for (uint32_t i = 0; i < s->acquired_count; i++) {
        Acquired *q = &s->acquired[i];
        if (q->object != o || q->warp != v || q->lane != lane) continue;
        if (q->end == o->count && q->start == o->start && (q->fenced || !fenced)) return; /* nothing new */
        *q = now;
        return;
    }
    if (s->acquired_count == s->acquired_room) {
        s->acquired_room = s->acquired_room ? 2 * s->acquired_room : 8;
        s->acquired = realloc(s->acquired, s->acquired_room * sizeof *s->acquired);
    }
    s->acquired[s->acquired_count++] = now;
}

/* A strong access of one lane. */
void lw_strong(BlockState *s, uint32_t v, uint32_t lane, const Site *site, uint64_t key) {
    Check *c = s->check;
    WarpState *ws = &s->warp[v];
    bool writes = site->kind != IS_LOAD, reads = site->kind != IS_STORE;
    bool releases = writes && (ws->fence[lane] || site->flags & IS_RELEASE);
    if (!releases && !__atomic_load_n(&c->strong, __ATOMIC_RELAXED)) return;
    pthread_mutex_lock(&c->lock);
    SyncObject *o = object_at(c, key, releases);
    if (o) {
        if (reads && o->count > o->start) acquire(s, v, lane, o, site->flags & IS_ACQUIRE, s->tick);
        if (writes && !reads) o->start = o->count; /* what was there before can be read no more */
        if (releases) {
            bool own = site->flags & IS_RELEASE;
            uint8_t scope = own ? site->scope : ws->fence_scope[lane];
            if (site->scope < scope) scope = site->scope;
            publish(s, v, lane, o, own ? lw_next_tick(s) : ws->fence[lane], scope, reads);
            __atomic_store_n(&c->strong, 1, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&c->lock);
}

/* An access is told of before it is made, on several threads: a strong read may see what another warp publishes in
 * between. Until the next event of its warp it is open; then it has read all that was published before. */
void lw_opens(BlockState *s, uint32_t v, uint32_t lane, const Site *site, uint64_t key) {
    WarpState *ws = &s->warp[v];
    ws->open |= 1u << lane;
    ws->open_key[lane] = key;
    ws->open_tick = s->tick;
    ws->open_acquires = site->flags & IS_ACQUIRE;
}

void lw_close(BlockState *s, uint32_t v) {
    Check *c = s->check;
    WarpState *ws = &s->warp[v];
    uint32_t open = ws->open;
    ws->open = 0;
    if (!__atomic_load_n(&c->strong, __ATOMIC_RELAXED)) return;
    pthread_mutex_lock(&c->lock);
    for (; open; open &= open - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(open);
        SyncObject *o = object_at(c, ws->open_key[lane], false);
        if (o && o->count > o->start) acquire(s, v, lane, o, ws->open_acquires, ws->open_tick);
    }
    pthread_mutex_unlock(&c->lock);
}

/* Mbarriers: an arrival publishes all that its thread did, who has waited knows it (release and acquire of PTX). */
void lw_meet(Warp x, Worker w, uint32_t mask, const uint64_t *hosts, uint32_t arrives) {
    (void)w;
    if (!mask) return;
    BlockState *s = state_of(x);
    Check *c = s->check;
    uint32_t v = warp_of(x);
    lw_settle(s, v);
    lw_next_tick(s);
    bool together = mask == alive(x);
    uint32_t full = s->warp[v].full;
    pthread_mutex_lock(&c->lock);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        SyncObject *o = object_at(c, hosts[lane] | 1ull << 63, arrives);
        if (!o) continue;
        if (!arrives) {
            if (o->count) acquire(s, v, lane, o, true, s->tick);
            continue;
        }
        for (uint32_t i = 0; i < LANES && together; i++) together = !(mask >> i & 1) || hosts[i] == hosts[lane];
        if (together) s->warp[v].full = s->tick; /* for the one entry that stands for all lanes */
        publish(s, v, lane, o, s->tick, 4, true);
        s->warp[v].full = full;
        if (together) break;
    }
    if (arrives) __atomic_store_n(&c->strong, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&c->lock);
}

void lw_fence(Warp x, Worker w, uint32_t active, uint32_t scope) {
    (void)w;
    BlockState *s = state_of(x);
    uint32_t v = warp_of(x);
    WarpState *ws = &s->warp[v];
    lw_settle(s, v);
    lw_next_tick(s);
    ws->fenced = true;
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        ws->fence[lane] = s->tick;
        ws->fence_scope[lane] = (uint8_t)(scope ? scope : 4);
    }
    for (uint32_t i = 0; i < s->acquired_count; i++) {
        Acquired *q = &s->acquired[i];
        if (q->warp == v && active >> q->lane & 1) q->fenced = 1;
    }
}

static bool covers(const Published *p, uint32_t u, uint32_t l, uint32_t tick) {
    if (tick < p->all || (p->row && tick < p->row[u])) return true;
    return u == p->warp && tick < (l == p->lane ? p->tick : p->full);
}

typedef struct {
    uint32_t home, block, u, l, tick, visited;
    uint64_t key; /* of the object, where the earlier access is itself a strong write of one; else 0 */
} Wanted;

/* Who has read what a strong write left comes after that write itself. */
static bool is_it(const SyncObject *o, const Published *p, const Wanted *wanted) {
    return wanted->key && o->key == wanted->key && wanted->u == p->warp && wanted->l == p->lane && wanted->tick <= p->at;
}

static bool found_at(const Acquired *q, Wanted *wanted) {
    SyncObject *o = (SyncObject *)q->object;
    uint8_t least = wanted->block == wanted->home ? 1 : 2;
    if (o->heads_room) {
        for (uint32_t at = *head_of(o, wanted->block); at; at = o->published[at - 1].next)
            if (at - 1 >= q->start && at - 1 < q->end && o->published[at - 1].scope >= least &&
                (covers(&o->published[at - 1], wanted->u, wanted->l, wanted->tick) ||
                 is_it(o, &o->published[at - 1], wanted)))
                return true;
    }
    for (uint32_t i = q->start; i < q->end; i++) {
        if (!o->published[i].acquired_count) continue;
        if (++wanted->visited > MOST_VISITED) return true; /* too deep to tell: nothing is said without proof */
        for (uint32_t k = 0; k < o->published[i].acquired_count; k++)
            if (found_at(&o->published[i].acquired[k], wanted)) return true;
    }
    return false;
}

/* Whether strong accesses order what thread (u, l) of a block did at `tick` before what (v, m) does now. */
int lw_ordered_by_sync(BlockState *s, uint32_t v, uint32_t m, uint32_t block, uint32_t u, uint32_t l, uint32_t tick,
                       uint64_t key) {
    int result = NOT_ORDERED;
    pthread_mutex_lock(&s->check->lock);
    for (uint32_t i = 0; i < s->acquired_count && result != ORDERED; i++) {
        const Acquired *q = &s->acquired[i];
        if (!valid(s, q, v, m)) continue;
        Wanted wanted = {s->block, block, u, l, tick, 0, key};
        if (found_at(q, &wanted)) result = q->fenced ? ORDERED : ORDERED_WEAKLY;
    }
    pthread_mutex_unlock(&s->check->lock);
    return result;
}

void lw_forget_objects(Check *c) {
    for (uint32_t i = 0; c->objects && i < BUCKETS; i++) {
        for (SyncObject *o = c->objects[i], *after; o; o = after) {
            after = o->after;
            for (uint32_t k = 0; k < o->count; k++) {
                free(o->published[k].row);
                free(o->published[k].acquired);
            }
            free(o->published);
            free(o->heads);
            free(o);
        }
    }
    free(c->objects);
    c->objects = NULL;
    c->object_count = c->strong = 0;
}
