/* The instrument that writes down requests: which lanes took part in an access, and where they went. It listens to a
 * launch of one worker (emulator/layout.py, Hooks). */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "layout.h"

#define FIELD(type, base, offset) (*(type *)((char *)(base) + (offset)))
enum { LANES = 32, WARPS = 32 };

typedef struct { /* numpy.dtype in sampling.py */
    uint32_t site, mask, warp, block;
    uint64_t at[LANES];
} Request;

typedef struct {
    void *hooks[HOOKS_SIZE / 8]; /* first: this is the table that kernels call */
    Request *next, *end;
    uint32_t *left; /* by site and warp of a block: requests still wanted */
} Sample;

static void on_access(void *warp, void *worker, uint32_t site, uint32_t mask, uint32_t active, const uint64_t *at,
                      const void *values) {
    (void)active, (void)values;
    Sample *s = FIELD(Sample *, FIELD(void *, worker, WORKER_LAUNCH), LAUNCH_HOOKS);
    uint32_t index = FIELD(uint32_t, warp, WARP_INDEX);
    uint32_t *left = s->left + (uint64_t)site * WARPS + index;
    if (!mask || !*left || s->next == s->end) return;
    --*left;
    Request *r = s->next++;
    r->site = site;
    r->mask = mask;
    r->warp = index;
    r->block = (uint32_t)FIELD(uint64_t, FIELD(void *, warp, WARP_BLOCK), BLOCK_LINEAR);
    memcpy(r->at, at, sizeof r->at);
}

/* A table at `s` that fills `room` requests. */
void lw_sample_begin(Sample *s, Request *requests, uint64_t room, uint32_t *left) {
    memset(s, 0, sizeof *s);
    s->hooks[HOOKS_ACCESS / 8] = (void *)on_access;
    s->next = requests;
    s->end = requests + room;
    s->left = left;
}

uint64_t lw_sample_taken(const Sample *s, const Request *requests) { return (uint64_t)(s->next - requests); }
uint64_t lw_sample_size(void) { return sizeof(Sample); }
