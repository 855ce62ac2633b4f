/* The list of what a launch was found to do: one entry for each pair of source lines, with how often it happened. */
#include "check.h"

enum { MOST_FOUND = 512 };

static bool alike(const Side *a, const Side *b) { return a->line == b->line && a->did == b->did; }

/* Which side came first does not tell two races apart. */
static bool same(const Found *f, uint32_t what, uint32_t how, const Side *now, const Side *before) {
    if (f->what != what || f->how != how) return false;
    return (alike(&f->now, now) && alike(&f->before, before)) ||
           (what == FOUND_RACE && alike(&f->now, before) && alike(&f->before, now));
}

/* The entry, held until `lw_found_done`; null where it was known before (and is counted now). */
Found *lw_found(Check *c, uint32_t what, uint32_t how, Side now, Side before, uint64_t lanes) {
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = 0; i < c->found_count; i++) {
        if (!same(&c->found[i], what, how, &now, &before)) continue;
        c->found[i].times++;
        c->found[i].lanes += lanes;
        pthread_mutex_unlock(&c->lock);
        return NULL;
    }
    if (c->found_count == MOST_FOUND) {
        c->found_lost++;
        pthread_mutex_unlock(&c->lock);
        return NULL;
    }
    if (c->found_count == c->found_room) {
        c->found_room = c->found_room ? 2 * c->found_room : 16;
        c->found = realloc(c->found, c->found_room * sizeof *c->found);
    }
    Found *f = &c->found[c->found_count++];
    memset(f, 0, sizeof *f);
    f->what = what;
    f->how = how;
    f->now = now;
    f->before = before;
    f->times = 1;
    f->lanes = lanes;
    return f;
}

void lw_found_done(Check *c) { pthread_mutex_unlock(&c->lock); }
