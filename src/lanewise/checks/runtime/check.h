/* What the parts of the check runtime share. The functions listen to a launch (emulator/layout.py, Hooks): they run on
 * the small stack of a warp, on several threads at a time.
 *
 * Time within a block is a count of its synchronising events, `tick`: an access carries the tick it was made at, and an
 * event that orders something remembers the tick that it began. What happened at a tick before that is ordered. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <stddef.h>

#include "layout.h" /* generated from emulator/layout.py: offsets of WARP_*, BLOCK_*, WORKER_*, LAUNCH_* */

#define FIELD(type, base, offset) (*(type *)((char *)(base) + (offset)))
enum { PIECE_BYTES = 1 << 16 }; /* of global memory, whose bits are kept together */
enum { BARRIERS_OF_A_BLOCK = 16 };
enum { LANES = 32, ROW_BITS = 22, MOST_WARPS = 32, MOST_LINES = 1 << 13 };

/* --- what Python tells of a kernel; numpy.dtype in library.py */
enum { IN_GLOBAL, IN_SHARED, IN_LOCAL, IN_NONE };
enum { IS_LOAD, IS_STORE, IS_ATOMIC };
enum { IS_VOLATILE = 1, IS_ACQUIRE = 2, IS_RELEASE = 4, IS_GENERIC = 8, IS_ASYNC = 16 };
typedef struct {
    uint8_t space, kind, bytes, element; /* bytes of a lane, and of one of its components */
    uint8_t scope, flags;                /* scope of a strong access, 0: a weak one */
    uint16_t line;                       /* number of its source line */
    int32_t low, high;                   /* the bytes of the shared or local variable that is meant */
    int32_t nearest, farthest;           /* the least and the greatest of the site's distances */
} Site;

/* --- what is found; numpy.dtype in library.py */
enum { FOUND_FAULT, FOUND_RACE, FOUND_ARMS, FOUND_PLACES, FOUND_EXITED, FOUND_MASK, FOUND_ABSENT, FOUND_RANGE, FOUND_UNDEFINED };
enum { AS_ERROR, AS_UNORDERED, AS_SAME_VALUE, AS_NO_ACQUIRE };
enum { DID_READ, DID_WRITE, DID_ATOMIC, DID_WAIT };
typedef struct {
    uint32_t line; /* number of a source line */
    uint32_t site; /* of a memory access, or a place; ~0 where it is not known */
    uint32_t block, warp, lane;
    uint32_t did;
} Side;
typedef struct {
    uint32_t what, how, code; /* code: of a fault */
    uint32_t bytes;
    Side now, before;
    uint64_t address;
    uint32_t mask, seen_mask;
    uint64_t lanes, times;
    uint32_t by_order; /* the verdict holds for the observed order of locks or atomics */
    uint32_t unused;
    uint64_t addresses[LANES];
} Found;

typedef struct BlockState BlockState;
typedef struct SyncObject SyncObject;
typedef struct Page Page;

typedef struct { /* stores of values that are not defined, by one instruction */
    uint64_t low, high; /* the bytes that it wrote so */
    uint32_t site, block, warp, lane;
} Undefined;

typedef int32_t Distances[LANES];

/* Bytes of global memory that a launch has touched in one way (`flags`: READ, STRONG, OF_BLOCK of race.c's records), from
 * one line: `per` of them by thread `thread` of block `block`, as many by each thread after it; `per` 0: by threads that
 * are not known. numpy.dtype in library.py */
typedef struct {
    uint64_t begin, end;
    uint32_t line, flags, block, thread;
    uint64_t per;
} Span;

typedef struct Check {
    void *hooks[HOOKS_SIZE / 8]; /* first: this is the table that kernels call */
    const Site *sites;
    uint32_t site_count;
    const Distances *distances; /* of the lanes of each site */
    const uint16_t *places; /* lines of places, from PLACE_BASE up */
    uint64_t arena, arena_size;
    uint32_t warps, races; /* races: whether they are looked for */
    /* findings of the launch */
    pthread_mutex_t lock;
    Found *found;
    uint32_t found_count, found_room, found_lost;
    /* blocks of the launch */
    BlockState **states;
    uint32_t state_count, state_room;
    uint32_t next_segment, first_segment; /* the first of this launch: records of earlier ones mean nothing */
    struct {
        uint32_t block, base; /* base: the block's tick when the segment began */
    } *segments;
    uint32_t segment_room;
    /* global memory */
    Page **pages; /* by address / PAGE_BYTES */
    struct Chunk *chunks, *chunk; /* all memory of pages; where the next one is taken from */
    /* strong accesses that others may have seen */
    SyncObject **objects;
    uint32_t object_count, object_room;
    uint32_t strong; /* objects with something published */
    /* what was never written */
    uint64_t **pieces, *made; /* bits of global memory by address / PIECE_BYTES; all of them */
    Undefined *undefined;
    uint32_t undefined_count, undefined_room;
    uint32_t initialised; /* whether that is looked for */
    uint32_t spoiled;     /* a byte was written that is not defined */
    Span *spans;          /* of the last launch, where they were asked for */
    uint32_t span_count, span_room;
} Check;

typedef struct {
    const SyncObject *object;
    uint32_t start, end; /* what was published there when it was read */
    uint32_t tick;
    uint8_t warp, lane, fenced;
} Acquired;

typedef struct {
    uint32_t full;              /* tick since which all lanes are in step */
    uint32_t (*known)[LANES];   /* [lane][other]: tick up to which a lane knows another; null: nothing beside `full` */
    bool fenced;                /* some lane has passed a fence */
    uint32_t fence[LANES];      /* tick of the lane's last fence, 0: none */
    uint8_t fence_scope[LANES];
    uint32_t *ran;              /* lanes that ran each line last */
    /* strong reads that were told of and are made since: what is published until the next event they may have read */
    uint32_t open, open_tick; /* lanes; tick */
    uint64_t open_key[LANES];
    bool open_acquires;
    /* barriers that the warp has come to and that are not complete: one that it waits at, others it went on from */
    uint16_t arrived, waits; /* by number */
    uint32_t arrived_place[BARRIERS_OF_A_BLOCK], arrived_mask[BARRIERS_OF_A_BLOCK], arrive_tick[BARRIERS_OF_A_BLOCK];
    uint32_t syncing, synced; /* the mask of a bar.warp.sync that lanes came to without the others; those lanes */
    uint32_t group[LANES]; /* groups of asynchronous copies that each lane has committed */
    uint32_t partial_place, partial_mask; /* lanes that came to a barrier without the others */
} WarpState;

/* An entry of the list of reads, as kernels write it (emulator/layout.py, BlockNotes): 32 bits each of site and warp, and
 * of an offset. Of the runtime itself: A_MASK, after which a mask and 32 offsets follow. All are of one tick. */
typedef struct {
    uint32_t what, offset;
} Brief;
/* A word that an asynchronous copy of a lane writes, from its issue until the lane has waited for it: no barrier orders it
 * meanwhile, which its record says by a tick that has not come. */
typedef struct {
    uint32_t word, group;
    uint8_t warp, lane;
} Copying;
#define NOT_LANDED 0xffffffffu
enum { COMMITTED, LANDED, LANDED_BUT }; /* emulator/lowering/events.py */
enum { A_MASK = (1 << 27) - 1, WARP_SHIFT = 27 };
enum { LIST_ROOM = 16384, LONGEST_ENTRY = 2 + LANES / 2, TICKS_OF_A_SEGMENT = 1000 };

struct BlockState {
    Brief *next, *end; /* these are first: kernels write here, and read */
    int64_t holes;     /* bytes of shared memory that are not defined */
    Brief *list;
    Check *check;
    char *memory; /* the block's shared memory */
    uint32_t block;
    uint32_t segment;    /* a block for at most TICKS_OF_A_SEGMENT ticks, see global.c */
    uint32_t tick, base; /* base: tick that the segment began at */
    uint32_t all;     /* tick since which all of the block is in step */
    uint32_t (*known)[MOST_WARPS]; /* [warp][other], from barriers of a part of the block */
    WarpState warp[MOST_WARPS];
    /* shared memory */
    uint64_t *last, *reader; /* one record a word */
    uint32_t shared_words;
    Copying *copying;
    uint32_t copying_count, copying_room;
    bool closed;          /* the list: reads make records at once, until the phase ends */
    uint32_t listed_tick; /* of the first entry of the list */
    const Brief *looked;  /* entries before it are within the bytes [read_low, read_high) */
    int64_t read_low, read_high, write_low, write_high; /* of the list, and of the writes since it began */
    /* what is defined */
    uint64_t *shared_defined, *local_defined, shared_bytes, local_bytes, local_words;
    uint32_t local_touched; /* warps */
    /* what was read of others */
    Acquired *acquired;
    uint32_t acquired_count, acquired_room;
};

typedef void *Warp, *Worker, *Block;

static inline Check *check_of(Worker w) {
    void *launch = FIELD(void *, w, WORKER_LAUNCH);
    return FIELD(Check *, launch, LAUNCH_HOOKS);
}
static inline Block block_of(Warp x) { return FIELD(Block, x, WARP_BLOCK); }
static inline BlockState *state_of(Warp x) { return FIELD(BlockState *, block_of(x), BLOCK_NOTES); }
static inline uint32_t warp_of(Warp x) { return FIELD(uint32_t, x, WARP_INDEX); }
static inline uint32_t alive(Warp x) { return FIELD(uint32_t, x, WARP_MASK) & ~FIELD(uint32_t, x, WARP_EXITED); }
static inline uint32_t place_line(const Check *c, uint32_t place) { return c->places[place - PLACE_BASE]; }

/* A synchronising event: what follows is of the next tick. */
void lw_listed_tick(BlockState *s);
void lw_renew(BlockState *s);
static inline uint32_t lw_next_tick(BlockState *s) {
    if (s->list) lw_listed_tick(s);
    if (++s->tick - s->base > TICKS_OF_A_SEGMENT) lw_renew(s);
    return s->tick;
}

/* found.c */
Found *lw_found(Check *c, uint32_t what, uint32_t how, Side now, Side before, uint64_t lanes);
void lw_found_done(Check *c);
/* block.c */
void lw_block(Worker w, Block b, uint64_t begins);
void lw_arrive(Warp x, Worker w, uint32_t id, uint32_t threads, uint32_t mask, uint32_t waits, uint32_t place);
void lw_release(Worker w, Block b, uint64_t id);
void lw_warp_sync(Warp x, Worker w, uint32_t place, uint32_t active, uint32_t orders, const uint32_t *members);
/* order.c */
bool lw_in_step(const BlockState *s, uint32_t v, uint32_t m, uint32_t u, uint32_t l, uint32_t tick);
enum { NOT_ORDERED, ORDERED_WEAKLY, ORDERED };
int lw_ordered_by_sync(BlockState *s, uint32_t v, uint32_t m, uint32_t block, uint32_t u, uint32_t l, uint32_t tick,
                       uint64_t key);
/* What stands for an address that strong accesses meet at. */
static inline uint64_t lw_key(const BlockState *s, uint64_t address, bool shared) {
    return shared ? (uint64_t)s->block << 32 | (address & 0xfffffc) | 1 : address & ~3ull;
}
void lw_strong(BlockState *s, uint32_t v, uint32_t lane, const Site *site, uint64_t key);
void lw_opens(BlockState *s, uint32_t v, uint32_t lane, const Site *site, uint64_t key);
void lw_close(BlockState *s, uint32_t v);
static inline void lw_settle(BlockState *s, uint32_t v) {
    if (s->warp[v].open) lw_close(s, v);
}
void lw_fence(Warp x, Worker w, uint32_t active, uint32_t scope);
void lw_meet(Warp x, Worker w, uint32_t mask, const uint64_t *hosts, uint32_t arrives);
void lw_forget_objects(Check *c);
/* race.c: records of accesses, one a word. The upper half says when and by whom: the tick and the warp in shared memory,
 * the segment (a block for a while), the warp and some bits of the tick in global memory. */
enum { READ = 1, STRONG = 2, MORE_LANES = 4, MORE_WARPS = 8 }; /* MORE: of readers, others of the warp, of other warps */
enum { OF_BLOCK = MORE_LANES };   /* of strong writes: their scope is the block */
enum { OF_LANES = 16, FLAGS = 31 }; /* several lanes of the warp, each other bytes of the word */
#define LOW(lane, line, bytes, flags)                                                                                  \
    ((uint64_t)(lane) << 22 | (uint64_t)(line) << 9 | (uint64_t)(bytes) << 5 | (uint64_t)(flags))
#define LANE_OF(r) ((uint32_t)((r) >> 22) & 31)
#define LINE_OF(r) ((uint32_t)((r) >> 9) & (MOST_LINES - 1))
#define BYTES_OF(r) ((uint32_t)((r) >> 5) & 15)
#define BYTES(bytes) ((uint64_t)(bytes) << 5)
/* The record of a word's last write after `mine`. `together`: old is of the same warp and tick. A weak write tells more
 * than the strong one that follows it, and lanes may write a word by its bytes. */
static inline uint64_t lw_last(uint64_t old, uint64_t mine, bool together) {
    if (!together || old & READ) return mine;
    if (mine & STRONG && !(old & STRONG)) return old;
    if (LANE_OF(old) == LANE_OF(mine) && !(old & OF_LANES)) return mine | BYTES(BYTES_OF(old));
    if ((old & STRONG) != (mine & STRONG) || BYTES_OF(old) & BYTES_OF(mine)) return mine;
    return mine | BYTES(BYTES_OF(old)) | OF_LANES;
}
/* Strong writes of others do not conflict with a strong write, but with a weak access of any of them: two of different
 * warps are kept, in both places of the word. Whether that is what to do with `mine`, which has been compared. */
static inline bool lw_second_strong(uint64_t *last, uint64_t *reader, uint64_t first, uint64_t mine) {
    if (!(mine & STRONG) || *last < first || (*last & (READ | STRONG)) != STRONG) return false;
    if (*reader >= first) {
        if ((*reader & (READ | STRONG)) == STRONG && !((*reader ^ *last) >> 27) && (*last ^ mine) >> 27) *last = mine;
        return true;
    }
    if ((*last ^ mine) >> 22 == 0) return false;
    *reader = *last;
    *last = mine;
    return true;
}
/* Nothing is to be done for an atomic of a whole word. */
static inline bool lw_settled(uint64_t last, uint64_t reader, uint64_t first) {
    enum { WANTED = STRONG | 15 << 5, ASKED = READ | STRONG | 15 << 5 };
    return last >= first && reader >= first && (last & ASKED) == WANTED && (reader & ASKED) == WANTED &&
           (last ^ reader) >> 27;
}
typedef struct { /* the access that is made */
    BlockState *s;
    const Site *site;
    uint32_t number, warp, lane, mask, active;
    const uint64_t *at;
    const void *values;
    uint64_t address; /* of the word that is looked at; an offset in shared memory */
    uint32_t part;    /* bytes of the access before that word */
    const char *memory;
} Access;
typedef struct { /* an earlier one, from a record */
    uint32_t block, warp, lane, line, tick, flags;
    bool same_block, other_lane, other_warp; /* other: it was not the one named but another */
} Earlier;
void lw_conflict(const Access *a, const Earlier *e);
/* shared.c, global.c */
void lw_shared(Access *a);
void lw_flush_reads(BlockState *s);
void lw_empty_list(BlockState *s);
void lw_end_phase(BlockState *s);
void lw_copies(Warp x, Worker w, uint32_t mask, uint32_t what, uint32_t pending);
void lw_shared_room(BlockState *s, uint64_t bytes);
void lw_global(Access *a);
void lw_forget_pages(Check *c);
void lw_page_room(Check *c);
void lw_forget_records(Check *c);
void lw_find_spans(Check *c, uint32_t threads);
/* init.c */
void lw_define(Check *c, uint64_t address, uint64_t size, bool defined);
uint64_t lw_first_undefined(Check *c, uint64_t address, uint64_t size);
void lw_copy_defined(Check *c, uint64_t to, uint64_t from, uint64_t size);
void lw_loaded(Warp x, Worker w, uint32_t number, uint32_t mask, const uint64_t *at, uint8_t *out);
void lw_stored(Warp x, Worker w, uint32_t number, uint32_t mask, const uint64_t *at, uint8_t *values, uint32_t way);
void lw_undefined(Warp x, Worker w, uint32_t place, uint32_t mask, uint32_t what);
void lw_forget_pieces(Check *c);
void lw_undefine_block(BlockState *s, uint64_t shared, uint64_t local);
