// Caches below the SMs, fed with the lines that a launch asked for (emulator/trace.py has the form of a record).
//
// Blocks are placed on SMs as they come and replaced as they end; the resident warps take turns, one request each.
// L1: one a SM, lines of four sectors, least recently used. Loads and stores to local memory allocate; every store is
// written through. What another SM of the same group asks for at about the same time goes to the L2 once.
// L2: one, lines of four sectors, least recently used; a miss reads whole accesses of DRAM; what was written is kept
// until it is replaced.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct {
  uint32_t line, what, order, warp;
} Record;

typedef struct {
  uint8_t valid, dirty;
  uint8_t bytes[4];  // of each sector, written since it was not valid: it is whole with 32
  uint8_t from;      // L1: where it was last fetched from (2: the L2, 3: DRAM), ...
  uint32_t turn;     // ... and when; L2: when something of it was last read from DRAM
} Line;

// Keys and times of use lie apart from the lines: a look at a set reads little memory.
typedef struct {
  uint64_t *keys;  // line + 1; 0: empty
  uint32_t *used;
  Line *lines;
  uint32_t sets, ways, clock;
} Cache;

enum { LOAD, STORE, ATOMIC };
enum { SECTORS, LINES, L1_HITS, MERGED, L2_SECTORS, L2_HITS, DRAM_SECTORS, FROM_L1, FROM_L2, FROM_DRAM, COLUMNS };
#define LOCAL_KEY (1ull << 62)
#define WAYS 16
#define JOINED 255  // as in caches.py
#ifndef DRIFT
#define DRIFT 1311  // blocks run slower than others by up to so much, in 1/65536
#endif
#define APART 5u   // as in emulator/trace.py
#define PENDING 4  // turns that a line is on its way: a warp has about so many loads at once
#define PAST 254   // as in caches.py
#define FAR 16     // warps ahead whose records are fetched, ...
#define NEAR 6     // ... whose places in the caches are, ...
#define AHEAD 3    // ... and records of one request
#define COALESCER 2048  // lines that a group of SMs remembers

#define SLICE_LINES 4  // that lie in one slice, one behind the other

typedef struct {
  uint64_t key;
  uint32_t turn;
  uint8_t sectors;
} Asked;

typedef struct {
  uint32_t sms, group, window, dram_sectors, level;
  Cache l2;
  uint64_t dram_written, filled;
  uint32_t slices;
  uint32_t began, now;  // turns of all launches: the first of this one, and the present
  int in_part;      // some sector of the L2 may be written in part
  uint64_t *steps;  // of atomics, in each slice
} Caches;

static uint32_t hash_of(uint32_t line) {
  uint32_t mixed = line * 0x9E3779B1u;
  return mixed ^ mixed >> 15;
}
static int bits(unsigned sectors) { return 0x4332322132212110ull >> 4 * (sectors & 15) & 15; }
static uint64_t scatter(uint64_t key) {
  key ^= key >> 31;
  key *= 0x9E3779B97F4A7C15ull;
  return key ^ key >> 29;
}
// Zeroed memory in large pages, where there are any: what is looked at lies anywhere in it. NULL where there is none.
#define LARGE_PAGE ((size_t)2 << 20)
static void *zeroed(size_t bytes) {
  if (bytes < LARGE_PAGE) return calloc(1, bytes);
  bytes = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
  void *memory = aligned_alloc(LARGE_PAGE, bytes);
  if (!memory) return NULL;
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memset(memory, 0, bytes);
}
// `number` empty caches of one size, in one piece of memory that is the first's. Returns 0, or 1 where there is none.
static int make(Cache *caches, uint32_t number, uint32_t lines) {
  if (lines < 1) lines = 1;
  uint32_t sets = lines / WAYS ? lines / WAYS : 1, ways = lines / sets;
  size_t count = (size_t)sets * ways;
  uint64_t *keys = zeroed(number * count * (sizeof(uint64_t) + sizeof(uint32_t) + sizeof(Line)));
  if (!keys) return 1;
  uint32_t *used = (uint32_t *)(keys + number * count);
  Line *all = (Line *)(used + number * count);
  for (size_t n = 0; n < number; n++)
    caches[n] = (Cache){keys + n * count, used + n * count, all + n * count, sets, ways, 0};
  return 0;
}
static void drop(Cache *first) {
  free(first->keys);
  memset(first, 0, sizeof *first);
}
// Where the line of a key is; where it is not there, the least recently used of its set (`*found` is 0).
static size_t look(const Cache *cache, uint64_t key, int *found) {
  size_t set = (size_t)(scatter(key) % cache->sets) * cache->ways;
  const uint64_t *keys = cache->keys + set;
  const uint32_t *used = cache->used + set;
  *found = 1;
  for (uint32_t way = 0; way < cache->ways; way++)
    if (keys[way] == key + 1) return set + way;
  *found = 0;
  uint32_t oldest = 0;  // never used: 0
  for (uint32_t way = 1; way < cache->ways; way++)
    if (used[way] < used[oldest]) oldest = way;
  return set + oldest;
}
// `bytes` are those of each sector, 8 bits for one.
static void add_bytes(Line *line, unsigned sectors, unsigned bytes) {
  for (int n = 0; n < 4; n++) {
    if (!(sectors >> n & 1) || line->valid >> n & 1) continue;
    unsigned so_far = line->bytes[n] + (bytes >> 8 * n & 255);
    line->bytes[n] = so_far < 32 ? so_far : 32;
    if (so_far >= 32) line->valid |= 1 << n;
  }
}

// Stores that reach the L2 together with others, which were counted.
static void join(Caches *c, uint64_t key, unsigned sectors, unsigned bytes) {
  int found;
  size_t place = look(&c->l2, key, &found);
  if (found) add_bytes(c->l2.lines + place, sectors, bytes);
}

// A line leaves the L2, or a launch ends: what was written in part is read from DRAM first. Returns the sectors written.
static unsigned write_back(Caches *c, Line *line) {
  unsigned written = line->dirty;
  for (int n = 0; n < 4; n++)
    if (line->dirty >> n & 1 && !(line->valid >> n & 1)) c->filled++;
  c->dram_written += bits(written);
  line->valid |= written;
  line->dirty = 0;
  memset(line->bytes, 0, sizeof line->bytes);
  return written;
}

// Sectors of a line asked of the L2, each with `bytes` to store; returns those that had to come from DRAM.
static unsigned ask_l2(Caches *c, uint64_t key, unsigned sectors, int kind, unsigned bytes, uint64_t *counts) {
  int found;
  size_t place = look(&c->l2, key, &found);
  Line *line = c->l2.lines + place;
  if (!found) {
    write_back(c, line);
    c->l2.keys[place] = key + 1;
    line->valid = 0;
    line->turn = 0;
  }
  c->l2.used[place] = ++c->l2.clock;
  counts[L2_SECTORS] += bits(sectors);
  unsigned missing = sectors & ~line->valid, fetched = 0;
  if (kind == STORE) {
    line->dirty |= sectors;
    add_bytes(line, sectors, bytes);
    if (line->dirty & ~line->valid) c->in_part = 1;
    counts[L2_HITS] += bits(sectors);
    return 0;
  }
  line->dirty &= line->valid | ~missing;  // read before it was whole: what was written is there then
  if (missing) {
    fetched = missing;
    if (c->dram_sectors == 2) fetched |= (missing & 5) << 1 | (missing & 10) >> 1;
    if (c->dram_sectors == 4) fetched = 15;
    fetched &= ~line->valid;
    counts[DRAM_SECTORS] += bits(fetched);
    line->valid |= fetched;
    line->turn = c->now;
  }
  counts[L2_HITS] += bits(sectors) - bits(missing);
  if (kind == ATOMIC) line->dirty |= sectors;
  return missing;
}

Caches *lw_caches_make(uint32_t sms, uint32_t group, uint32_t window, uint32_t dram_sectors, uint32_t slices) {
  Caches *c = calloc(1, sizeof(Caches));
  c->slices = slices ? slices : 1;
  c->steps = calloc(c->slices, 8);
  c->sms = sms;
  c->group = group ? group : 1;
  c->window = window;
  c->dram_sectors = dram_sectors;
  c->began = PENDING;
  return c;
}
void lw_caches_free(Caches *c) {
  drop(&c->l2);
  free(c->steps);
  free(c);
}
// The L2 of others, into new caches of the same shape. Returns 0, or 1 where there is no memory.
int lw_caches_copy(Caches *into, const Caches *from) {
  into->level = from->level;
  into->began = from->began;
  if (!from->l2.lines) return 0;
  Cache *to = &into->l2;
  const Cache *old = &from->l2;
  size_t count = (size_t)old->sets * old->ways;
  if (make(to, 1, (uint32_t)count)) return 1;
  to->clock = old->clock;
  memcpy(to->keys, old->keys, count * sizeof *to->keys);
  memcpy(to->used, old->used, count * sizeof *to->used);
  memcpy(to->lines, old->lines, count * sizeof *to->lines);
  return 0;
}
// Nothing is in the L2 any more.
void lw_caches_flush(Caches *c) {
  drop(&c->l2);
}

static void keep(Cache *into, const Cache *from, size_t n, uint64_t key) {
  int found;
  size_t place = look(into, key, &found);
  if (found || (into->keys[place] && into->used[place] > from->used[n])) return;
  into->keys[place] = key + 1;
  into->used[place] = from->used[n];
  into->lines[place] = from->lines[n];
}
typedef struct {
  uint32_t used, place;
} Age;
static int by_age(const void *a, const void *b) {
  const Age *x = a, *y = b;
  return x->used < y->used ? -1 : x->used > y->used;
}
// The L2 for a launch that is followed at `level`. At a lower one, each line that was followed stands for its
// neighbours, which were not; at a higher one only some of the lines are followed on. Returns 0, or
// 1 where there is no memory.
static int set_level(Caches *c, uint32_t level, uint32_t l2_lines) {
  Cache old = c->l2, new;
  if (make(&new, 1, l2_lines >> level)) return 1;
  if (old.lines) {
    size_t places = (size_t)old.sets * old.ways, count = 0;
    Age *ages = malloc(places * sizeof(Age));
    for (size_t n = 0; ages && n < places; n++)
      if (old.keys[n]) ages[count++] = (Age){old.used[n], (uint32_t)n};
    if (count) qsort(ages, count, sizeof(Age), by_age);
    uint32_t mask = (1u << level) - 1;
    for (size_t n = 0; n < count; n++) {
      uint32_t place = ages[n].place;
      uint64_t key = old.keys[place] - 1;
      int64_t reach = level < c->level && !(key & LOCAL_KEY) ? 1 << (c->level - 1) : 0;
      for (int64_t d = -reach; d <= reach; d++) {
        uint64_t near = key + d;
        if (d && (hash_of((uint32_t)near) & mask || near >> 32)) continue;
        if (level > c->level && (key & LOCAL_KEY || hash_of((uint32_t)key) & mask)) continue;
        keep(&new, &old, place, near);
      }
      if (ages[n].used > new.clock) new.clock = ages[n].used;
    }
    free(ages);
    drop(&old);
  }
  c->l2 = new;
  c->level = level;
  return 0;
}

typedef struct {
  uint32_t next, end;  // records, in the order of the warp
  uint32_t before;     // the first record of its request before
  uint32_t began;      // turn at which its block began
  uint32_t pace;       // turns for a request, in 1/65536
  uint32_t sm, slot, link;
} Warp;  // one for each warp that an SM can hold

// An access to a register kept in local memory, done after each request of a site: `word` of the thread, its kind, and
// the row of `counts` it goes to.
typedef struct {
  uint32_t word, kind, row;
} Spill;

typedef struct {
  Caches *caches;
  Cache *l1;     // of each SM
  Asked *asked;  // of each group of SMs
  uint32_t turn;
} Run;

static uint32_t due_at(const Warp *warp, uint32_t order) {
  return warp->began + (uint32_t)((uint64_t)order * warp->pace >> 16);
}
static uint64_t local_key(const Warp *warp, uint32_t id, uint32_t word) {
  return LOCAL_KEY | (uint64_t)warp->sm << 40 | (uint64_t)warp->slot << 32 | (uint64_t)(id & 31) << 24 | word;
}

// Whether something of a line has just been asked of DRAM, for others: who asks now waits for it as they do.
static int on_its_way(const Caches *c, uint64_t key) {
  int found;
  size_t place = look(&c->l2, key, &found);
  return found && c->now - c->l2.lines[place].turn < PENDING;
}

// Sectors that an SM asks of the L2; those that its group has just asked for come with the others'. Returns where the
// furthest came from: 2 the L2, 3 DRAM.
static unsigned ask_together(Run *run, const Warp *warp, uint64_t key, unsigned sectors, uint64_t *out) {
  Asked *memory = run->asked + (size_t)(warp->sm / run->caches->group) * COALESCER + scatter(key) % COALESCER;
  if (memory->key != key + 1 || run->turn - memory->turn > run->caches->window) {
    memory->key = key + 1;
    memory->sectors = 0;
    memory->turn = run->turn;
  }
  unsigned alone = sectors & ~memory->sectors;
  out[MERGED] += bits(sectors) - bits(alone);
  memory->sectors |= sectors;
  if (alone && ask_l2(run->caches, key, alone, LOAD, 0, out)) return 3;
  return on_its_way(run->caches, key) ? 3 : 2;
}

// A load that goes past the L1.
static unsigned ask_past(Run *run, const Warp *warp, uint64_t key, unsigned sectors, uint64_t *out) {
  out[SECTORS] += bits(sectors);
  out[LINES]++;
  return ask_together(run, warp, key, sectors, out);
}

// A load or store of some sectors of a line by a warp; `again` are those that it stored with the request before.
// Returns where the furthest came from: 1 the L1, 2 the L2, 3 DRAM, 0 nowhere (a store).
static unsigned touch(Run *run, const Warp *warp, uint64_t key, unsigned sectors, uint32_t kind, unsigned again,
                      unsigned bytes, uint64_t *out) {
  Cache *mine = run->l1 + warp->sm;
  int found;
  size_t place = look(mine, key, &found);
  Line *line = mine->lines + place;
  unsigned present = found ? line->valid & sectors : 0;
  out[SECTORS] += bits(sectors);
  out[LINES]++;
  if (kind == STORE && !(key & LOCAL_KEY)) {
    out[L1_HITS] += bits(present | again);
    if (found) mine->used[place] = ++mine->clock;
    if (again) join(run->caches, key, again, bytes);
    if (sectors & ~again) ask_l2(run->caches, key, sectors & ~again, STORE, bytes, out);
    return 0;
  }
  if (!found) {
    mine->keys[place] = key + 1;
    line->valid = line->from = 0;
  }
  mine->used[place] = ++mine->clock;
  line->valid |= sectors;
  out[L1_HITS] += bits(present);
  if (kind == STORE) {
    ask_l2(run->caches, key, sectors, STORE, bytes, out);
    return 0;
  }
  unsigned missing = sectors & ~present;
  // What another warp has asked for and has not got yet is waited for like a miss.
  if (!missing) return run->turn - line->turn < PENDING && line->from ? line->from : 1;
  line->from = ask_together(run, warp, key, missing, out);
  line->turn = run->turn;
  return line->from;
}

// Sectors of a line that the request before of the same warp stored, where this one follows at once.
static unsigned stored_before(const Record *sorted, const Warp *warp, const Record *now) {
  unsigned sectors = 0;
  for (uint32_t n = warp->before; n < warp->next; n++) {
    const Record *r = sorted + n;
    if (r->order + 1 == now->order && r->line == now->line && (r->what >> 4 & 3) == STORE) sectors |= r->what & 15;
  }
  return sectors & now->what & 15;
}

// Tell the processor what a record's look into the caches will read: most of it is far from where the last one looked.
// (Not inlined, it would be left out as a function without effects.)
static inline __attribute__((always_inline)) void expect(const Run *run, const Warp *warp, const Record *r) {
  uint64_t key = r->what >> 6 & 1 ? local_key(warp, r->warp, r->line - (r->warp & 31) * APART) : r->line;
  const Cache *caches[] = {run->l1 + warp->sm, &run->caches->l2};
  for (int n = 0; n < 2; n++) {
    size_t set = (size_t)(scatter(key) % caches[n]->sets) * caches[n]->ways;
    __builtin_prefetch(caches[n]->keys + set);
    __builtin_prefetch(caches[n]->keys + set + WAYS / 2);
    __builtin_prefetch(caches[n]->used + set);
    for (int way = 0; way < WAYS; way += 5) __builtin_prefetch(caches[n]->lines + set + way);
  }
  __builtin_prefetch(run->asked + (size_t)(warp->sm / run->caches->group) * COALESCER + scatter(key) % COALESCER);
}

// Bytes that a store of `bytes` in all writes to each sector of a line, 8 bits for one. What its sectors lack is at the
// ends of a run: not where the request goes on in the line before or after; or it is spread over all of them.
static unsigned bytes_of(const Record *sorted, const Warp *warp, uint32_t begin, const Record *now, unsigned bytes) {
  unsigned sectors = now->what & 15, count = bits(sectors), missing = 32 * count > bytes ? 32 * count - bytes : 0;
  unsigned even = (bytes + count - 1) / count * 0x01010101u;
  int before = (sectors & 9) == 1, after = (sectors & 9) == 8;  // lines that are not followed are not there
  if (!missing || missing >= 32 || count < 2) return even;
  for (uint32_t n = begin; n < warp->end && sorted[n].order == now->order; n++) {
    before |= sorted[n].line + 1 == now->line;
    after |= sorted[n].line == now->line + 1;
  }
  if (before == after) return even;
  int end = after ? __builtin_ctz(sectors) : 31 - __builtin_clz(sectors);
  return 0x20202020u - (missing << 8 * end);
}

// One launch. `records` are those at `level`; `width[site]` is the bytes that a lane accesses, 0 where machine code has
// no access for a site; `spills`
// of site s are those from first_spill[s] to first_spill[s + 1]. `counts` has COLUMNS numbers for each site and for each
// row of a spill, `below` the sectors written to DRAM and those of them that were read first, and the
// most that atomics ask of one slice. Returns 0, or 1 where there is no memory.
int lw_caches_run(Caches *c, const Record *records, uint32_t count, uint32_t level, uint32_t blocks,
                  uint32_t warps_a_block, uint32_t blocks_a_sm, uint32_t l1_lines, uint32_t l2_lines,
                  const uint8_t *width, uint32_t sites, const Spill *spills, const uint32_t *first_spill,
                  uint64_t *counts, uint64_t *below) {
  if ((level != c->level || !c->l2.lines) && set_level(c, level, l2_lines)) return 1;
  if (c->l2.clock > 1u << 31) {  // stamps of 32 bits must not wrap
    for (size_t n = 0; n < (size_t)c->l2.sets * c->l2.ways; n++) c->l2.used[n] >>= 2;
    c->l2.clock >>= 2;
  }
  c->dram_written = c->filled = 0;
  memset(c->steps, 0, c->slices * 8);
  below[0] = below[1] = below[2] = 0;
  if (!count) return 0;
  size_t total = (size_t)blocks * warps_a_block, groups = (c->sms + c->group - 1) / c->group;
  uint32_t slots = c->sms * blocks_a_sm;
  if (slots > blocks) slots = blocks;
  uint32_t *start = calloc(total + 2, 4), *length = calloc(blocks, 4);
  Record *sorted = malloc((size_t)count * sizeof(Record));  // by warp, each warp's in its order
  Warp *warps = calloc((size_t)slots * warps_a_block, sizeof(Warp));
  uint32_t used = slots < c->sms ? slots : c->sms;  // SMs with blocks
  Cache *l1 = calloc(used, sizeof(Cache));
  Asked *asked = calloc(groups * COALESCER, sizeof(Asked));
  if (!start || !sorted || !length || !warps || !l1 || !asked) return 1;
  for (uint32_t n = 0; n < count; n++) {
    uint32_t block = records[n].warp >> 5;
    start[(size_t)block * warps_a_block + (records[n].warp & 31) + 2]++;
    if (records[n].order >= length[block]) length[block] = records[n].order + 1;
  }
  for (size_t n = 2; n < total + 2; n++) start[n] += start[n - 1];
  for (uint32_t n = 0; n < count; n++)
    sorted[start[(size_t)(records[n].warp >> 5) * warps_a_block + (records[n].warp & 31) + 1]++] = records[n];
  if (make(l1, used, l1_lines >> level)) return 1;
  // Turns: a ring of lists of warps whose next request is due; a block ends one turn after its last request.
  uint32_t longest = 1;
  for (uint32_t b = 0; b < blocks; b++)
    if (length[b] > longest) longest = length[b];
  uint32_t ring = 1;
  while (ring < longest + longest / 16 + 4) ring *= 2;
  uint32_t *due = malloc((size_t)ring * 4), *ends = malloc((size_t)ring * 4), *ending = calloc(slots, 4);
  if (!due || !ends || !ending) return 1;
  memset(due, 255, (size_t)ring * 4);
  memset(ends, 255, (size_t)ring * 4);
  Run run = {c, l1, asked, 0};
  uint32_t mask = (1u << level) - 1;
  uint32_t placed = 0, alive = 0;
  uint32_t *waiting = malloc((size_t)(slots + 1) * 4), free_slots = 0;
  uint32_t *now = malloc((size_t)slots * warps_a_block * 4);
  if (!waiting || !now) return 1;
  for (uint32_t s = slots; s-- > 0;) waiting[free_slots++] = s;
  for (uint32_t turn = 0; placed < blocks || alive; turn++) {
    uint32_t at = turn & (ring - 1);
    run.turn = turn;
    c->now = c->began + turn;
    for (uint32_t place = ends[at]; place != UINT32_MAX; place = ending[place]) {
      waiting[free_slots++] = place;
      alive--;
    }
    ends[at] = UINT32_MAX;
    while (free_slots && placed < blocks) {
      uint32_t place = waiting[--free_slots], b = placed++;
      uint32_t pace = 65536 + hash_of(b * 2 + 1) % (DRIFT + 1);
      uint32_t last = (turn + 1 + (uint32_t)((uint64_t)length[b] * pace >> 16)) & (ring - 1);
      alive++;
      ending[place] = ends[last];
      ends[last] = place;
      for (uint32_t w = warps_a_block; w-- > 0;) {
        size_t id = (size_t)place * warps_a_block + w, trace = (size_t)b * warps_a_block + w;
        Warp *warp = warps + id;
        warp->next = warp->before = start[trace];
        warp->end = start[trace + 1];
        warp->began = turn;
        warp->pace = pace;
        warp->sm = place % c->sms;
        warp->slot = place / c->sms;
        if (warp->next == warp->end) continue;
        uint32_t first = due_at(warp, sorted[warp->next].order) & (ring - 1);
        warp->link = due[first];
        due[first] = (uint32_t)id;
      }
    }
    uint32_t turns = 0;
    for (uint32_t id = due[at]; id != UINT32_MAX; id = warps[id].link) now[turns++] = id;
    due[at] = UINT32_MAX;
    for (uint32_t n = 0; n < turns; n++) {
      if (n + FAR < turns) __builtin_prefetch(sorted + warps[now[n + FAR]].next);
      if (n + NEAR < turns) expect(&run, warps + now[n + NEAR], sorted + warps[now[n + NEAR]].next);
      uint32_t id = now[n];
      Warp *warp = warps + id;
      uint32_t begin = warp->next, site = 0, who = 0;
      uint32_t order = sorted[begin].order;
      unsigned worst = 0;
      for (; warp->next < warp->end && sorted[warp->next].order == order; warp->next++) {
        const Record *r = sorted + warp->next;
        if (warp->next + AHEAD < warp->end && r[AHEAD].order == order) expect(&run, warp, r + AHEAD);
        unsigned sectors = r->what & 15, kind = r->what >> 4 & 3, local = r->what >> 6 & 1, from;
        unsigned lanes = (r->what >> 8 & 31) + 1;
        site = r->what >> 13;
        who = r->warp;
        if (site >= sites || !width[site] || !sectors) continue;  // without sectors: here for what is spilled
        uint64_t *out = counts + (size_t)site * COLUMNS;
        if (kind == ATOMIC) {
          // Warps tell how many atomics there are and where they meet, lines what the L2 does not have.
          from = 0;
          if (!(hash_of(r->warp) & mask)) {
            c->steps[scatter(r->line / SLICE_LINES) % c->slices] += width[site] == JOINED ? 1 : lanes;
            out[SECTORS] += bits(sectors);
            out[LINES]++;
            out[L2_SECTORS] += bits(sectors);
            out[L2_HITS] += bits(sectors);
            from = 2;
          }
          if (!(hash_of(r->line) & mask)) {
            uint64_t asked[COLUMNS] = {0};
            unsigned missing = bits(ask_l2(c, r->line, sectors, ATOMIC, 0, asked));
            out[DRAM_SECTORS] += asked[DRAM_SECTORS];
            out[L2_HITS] -= missing < out[L2_HITS] ? missing : out[L2_HITS];
            if (from && missing) from = 3;
          }
        } else {
          uint64_t key = local ? local_key(warp, r->warp, r->line - (r->warp & 31) * APART) : r->line;
          unsigned again = kind == STORE && !local ? stored_before(sorted, warp, r) : 0;
          unsigned bytes = kind == STORE ? bytes_of(sorted, warp, begin, r, lanes * width[site]) : 0;
          from = width[site] == PAST ? ask_past(&run, warp, key, sectors, out)
                                     : touch(&run, warp, key, sectors, kind, again, bytes, out);
        }
        if (from > worst) worst = from;
      }
      warp->before = begin;
      if (worst) counts[(size_t)site * COLUMNS + FROM_L1 + worst - 1]++;
      for (uint32_t n = site < sites ? first_spill[site] : 0; site < sites && n < first_spill[site + 1]; n++) {
        const Spill *spill = spills + n;
        if ((spill->word + (who & 31) * APART) & mask) continue;
        uint64_t *out = counts + (size_t)spill->row * COLUMNS;
        unsigned from = touch(&run, warp, local_key(warp, who, spill->word), 15, spill->kind, 0, 0x20202020u, out);
        if (from) out[FROM_L1 + from - 1]++;
      }
      if (warp->next < warp->end) {
        uint32_t then = due_at(warp, sorted[warp->next].order) & (ring - 1);
        warp->link = due[then];
        due[then] = id;
      }
    }
  }
  c->began = c->now + PENDING;
  drop(l1);
  free(start), free(sorted), free(length), free(warps), free(l1), free(asked), free(due), free(ends), free(ending);
  free(waiting), free(now);
  for (size_t n = 0; c->in_part && n < (size_t)c->l2.sets * c->l2.ways; n++)
    if (c->l2.lines[n].dirty & ~c->l2.lines[n].valid) write_back(c, c->l2.lines + n);
  c->in_part = 0;
  below[0] = c->dram_written;
  below[1] = c->filled;
  for (uint32_t s = 0; s < c->slices; s++)
    if (c->steps[s] > below[2]) below[2] = c->steps[s];
  return 0;
}
