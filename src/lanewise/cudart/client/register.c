/* cudaHostRegister: the pages of the program's own memory are replaced by pages of the arena with the same content, so
 * that kernels reach them at the arena's address while the program goes on using its own pointer. */
#include "lanewise.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 4096 };

typedef struct {
    uint64_t host, size;    /* as given */
    uint64_t begin, length; /* whole pages */
    uint64_t arena;         /* where these pages lie in the arena */
    unsigned flags;
} Range;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Range ranges[MOST];
static size_t count;

/* Copies whole pages from the program's addresses to the arena or back. By system call, because a sanitizer's memcpy
 * would object to the parts of the pages that are not the program's to touch. */
static bool move(long call, const Range *r) {
    for (uint64_t done = 0; done < r->length;) {
        long moved = syscall(call, lw_arena_fd(), r->begin + done, r->length - done,
                             r->arena - lw_arena_base() + done);
        if (moved <= 0 && errno != EINTR) return false;
        if (moved > 0) done += (uint64_t)moved;
    }
    return true;
}

static Range *overlapping(uint64_t begin, uint64_t end) {
    for (size_t i = 0; i < count; i++)
        if (begin < ranges[i].begin + ranges[i].length && ranges[i].begin < end) return &ranges[i];
    return NULL;
}

bool lw_registered(const void *pointer, size_t size, uint64_t *address, unsigned *flags) {
    uint64_t host = (uint64_t)pointer;
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && !found; i++)
        if (host >= ranges[i].host && host + size <= ranges[i].host + ranges[i].size) {
            *address = ranges[i].arena + (host - ranges[i].begin);
            *flags = ranges[i].flags;
            found = true;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

API cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned flags) {
    ENTER();
    uint64_t here = (uint64_t)__builtin_frame_address(0), page = lw_page();
    Range r = {.host = (uint64_t)pointer, .size = size, .flags = flags, .begin = (uint64_t)pointer & -page};
    r.length = ((r.host + size + page - 1) & -page) - r.begin;
    REQUIRE(pointer && size && !lw_in_arena(pointer), cudaErrorInvalidValue);
    /* The stack of the running thread cannot be moved from under its feet. */
    REQUIRE(here + 65536 < r.begin || here >= r.begin + r.length + 65536, cudaErrorNotSupported);
    void *arena;
    pthread_mutex_lock(&lock);
    cudaError_t error = overlapping(r.begin, r.begin + r.length) ? cudaErrorHostMemoryAlreadyRegistered
                        : count == MOST                          ? cudaErrorMemoryAllocation
                                                                 : cudaSuccess;
    if (error == cudaSuccess) error = lw_allocate(&arena, r.length, KIND_HOST, "cudaHostRegister", flags, CALLER);
    if (error == cudaSuccess) {
        r.arena = (uint64_t)arena;
        if (!move(SYS_pwrite64, &r) ||
            mmap((void *)r.begin, r.length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, lw_arena_fd(),
                 (off_t)(r.arena - lw_arena_base())) == MAP_FAILED) {
            lw_free(arena, 1 << KIND_HOST);
            error = cudaErrorMemoryAllocation;
        } else {
            ranges[count++] = r;
        }
    }
    pthread_mutex_unlock(&lock);
    return lw_return(error);
}

/* Give the program's pages back what they hold, as memory of its own. */
static cudaError_t restore(const Range *r) {
    if (mmap((void *)r->begin, r->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        return cudaErrorMemoryAllocation;
    return move(SYS_pread64, r) ? cudaSuccess : cudaErrorUnknown;
}

API cudaError_t cudaHostUnregister(void *pointer) {
    ENTER();
    lw_drain_callbacks();
    cudaError_t error = cudaErrorHostMemoryNotRegistered;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        Range r = ranges[i];
        if ((uint64_t)pointer - r.host < r.size) error = cudaErrorInvalidValue;
        if (r.host != (uint64_t)pointer) continue;
        error = restore(&r);
        if (error == cudaSuccess) {
            ranges[i] = ranges[--count];
            error = lw_free((void *)r.arena, 1 << KIND_HOST);
        }
        break;
    }
    pthread_mutex_unlock(&lock);
    return lw_return(error);
}

void lw_forget_registered(void) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) restore(&ranges[i]);
    count = 0;
    pthread_mutex_unlock(&lock);
}
