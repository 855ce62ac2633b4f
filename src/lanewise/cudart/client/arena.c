/* The arena, mapped twice: at its device addresses, where the host may touch nothing but managed and pinned memory,
 * and a second time anywhere, for the copies that this library makes. */
#include "lanewise.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older ones refuse it, and pages then come one fault at a time */
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static uint64_t arena_base, arena_size;
static char *alias_base;
static int arena_fd = -1;

bool lw_map_arena(int fd, uint64_t base, uint64_t size) {
    if (arena_fd >= 0) { /* a child by fork has its parent's mappings already */
        close(arena_fd);
        arena_fd = fd;
        return true;
    }
    void *at = mmap((void *)base, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
    if (at != (void *)base) {
        lw_complain("lanewise: %#llx bytes at %#llx are not free in this program's address space (%s): device memory "
                    "cannot be mapped", (unsigned long long)size, (unsigned long long)base, strerror(errno));
        if (at != MAP_FAILED) munmap(at, size);
        return false;
    }
    void *alias = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (alias == MAP_FAILED) {
        lw_complain("lanewise: device memory cannot be mapped a second time (%s): is there a limit on address space "
                    "(ulimit -v)?", strerror(errno));
        munmap(at, size);
        return false;
    }
    madvise(at, size, MADV_DONTDUMP);
    madvise(alias, size, MADV_DONTDUMP);
    arena_base = base;
    arena_size = size;
    alias_base = alias;
    arena_fd = fd;
    return true;
}

bool lw_in_arena(const void *pointer) { return (uint64_t)pointer - arena_base < arena_size; }
void *lw_alias(uint64_t address) { return alias_base + (address - arena_base); }
/* Before a large write: getting its pages at once takes half the time of a fault for each. */
void lw_populate(void *where, size_t size) {
    enum { LARGE = 1 << 20 };
    if (size < LARGE || (char *)where < alias_base || (char *)where >= alias_base + arena_size) return;
    uintptr_t begin = (uintptr_t)where & -lw_page();
    madvise((void *)begin, (uintptr_t)where + size - begin, MADV_POPULATE_WRITE);
}

uint64_t lw_arena_base(void) { return arena_base; }
uint64_t lw_arena_size(void) { return arena_size; }
int lw_arena_fd(void) { return arena_fd; }

uint64_t lw_page(void) {
    static uint64_t page;
    if (!page) page = (uint64_t)sysconf(_SC_PAGESIZE);
    return page;
}

bool lw_open_to_host(uint64_t address, uint64_t size, bool open) {
    uint64_t begin = address & -lw_page(), end = (address + size + lw_page() - 1) & -lw_page();
    return mprotect((void *)begin, end - begin, open ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}
