/* Two accesses of one word of which one writes: are they ordered, and if not, what is it called? */
#include "check.h"

/* Whether a store writes what is there: in memory, or (`other`) what that lane of the same instruction writes. */
static bool same_value(const Access *a, int other) {
    const Site *site = a->site;
    if (site->kind != IS_STORE || !a->values) return false;
    uint32_t size = site->element < 4 ? site->element : 4;
    uint32_t component = a->part / site->element, within = a->part % site->element;
    const char *mine = (const char *)a->values + (component * LANES + a->lane) * site->element + within;
    const char *its = a->memory + (a->at[a->lane] + a->part);
    if (other >= 0) its = (const char *)a->values + (component * LANES + (uint32_t)other) * site->element + within;
    return !memcmp(mine, its, size);
}

/* The lane is one of this very instruction, which comes before: it has stored nothing yet. */
static bool of_this_instruction(const Access *a, const Earlier *e) {
    return a->site->kind == IS_STORE && e->same_block && e->warp == a->warp && e->lane < a->lane && a->mask >> e->lane & 1 && !(e->flags & READ) &&
           e->line == a->site->line && e->tick == a->s->tick && a->at[e->lane] == a->at[a->lane];
}

/* Lanes of one warp that ran one after the other although nothing says so: in lockstep. */
static bool in_lockstep(const Access *a, const Earlier *e) {
    if (!e->same_block || e->warp != a->warp) return false;
    if (a->active >> e->lane & 1) return true;
    const uint32_t *ran = a->s->warp[a->warp].ran;
    return ran && ran[e->line] >> a->lane & 1;
}

static bool has_atomic(const Check *c, uint32_t line) {
    for (uint32_t i = 0; i < c->site_count; i++)
        if (c->sites[i].line == line && c->sites[i].kind == IS_ATOMIC) return true;
    return false;
}

void lw_conflict(const Access *a, const Earlier *e) {
    BlockState *s = a->s;
    bool writes = a->site->kind != IS_LOAD, wrote = !(e->flags & READ);
    uint32_t how = AS_ERROR, by_order = s->check->strong;
    if (a->site->scope && e->flags & STRONG) {
        bool reaches = e->same_block || (a->site->scope > 1 && !(wrote && e->flags & OF_BLOCK));
        /* warp-synchronous code: volatile keeps the compiler from moving it, but orders nothing */
        bool by_volatile = a->memory && a->site->flags & IS_VOLATILE && in_lockstep(a, e) &&
                           !has_atomic(s->check, e->line);
        if (reaches && !by_volatile) return;
    }
    bool together = of_this_instruction(a, e);
    if (!together) {
        uint32_t lane = e->other_lane ? LANES : e->lane; /* no lane's number: ordered only where all lanes are */
        if (e->other_warp ? e->tick < s->all : e->same_block && lw_in_step(s, a->warp, a->lane, e->warp, lane, e->tick))
            return;
        if (by_order) {
            uint64_t key = wrote && e->flags & STRONG ? lw_key(s, a->address, a->memory) : 0;
            int ordered = lw_ordered_by_sync(s, a->warp, a->lane, e->block, e->warp, e->lane, e->tick, key);
            if (ordered == ORDERED) return;
            if (ordered == ORDERED_WEAKLY) how = AS_NO_ACQUIRE;
        }
    }
    if (how == AS_ERROR && writes && wrote && same_value(a, together ? (int)e->lane : -1)) how = AS_SAME_VALUE;
    if (how == AS_ERROR && !together && in_lockstep(a, e)) how = AS_UNORDERED;
    static const uint32_t did[] = {[IS_LOAD] = DID_READ, [IS_STORE] = DID_WRITE, [IS_ATOMIC] = DID_ATOMIC};
    Side now = {a->site->line, a->number, s->block, a->warp, a->lane, did[a->site->kind]};
    Side before = {e->line, ~0u, e->block, e->other_warp ? ~0u : e->warp, e->other_lane || e->other_warp ? ~0u : e->lane,
                   !wrote ? DID_READ : e->flags & STRONG ? DID_ATOMIC : DID_WRITE};
    Found *f = lw_found(s->check, FOUND_RACE, how, now, before, 1);
    if (!f) return;
    f->address = a->address;
    f->bytes = a->site->bytes;
    f->by_order = by_order;
    lw_found_done(s->check);
}
