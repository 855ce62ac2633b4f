/* Device time, modelled: the same in every run.
 *
 * Each stream has a clock. The device runs one kernel at a time, so kernels of different streams follow each other, and
 * one copy in each direction beside it; work starts when its stream and the engine for it are both free. The default
 * stream waits for all others, and they for it, except streams made not to (cudaStreamNonBlocking). */
#include "lanewise.h"

#include <pthread.h>

enum { COPY_NS = 1000, ENGINES = COPY_TO_HOST + 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t default_clock; /* of the default stream */
static uint64_t latest;        /* of the streams that the default stream waits for, and itself */
static uint64_t engines[ENGINES];
static uint64_t event_ns;
static uint64_t bus_bytes_per_us;
static _Thread_local cudaStream_t current;

void lw_set_event_time(uint64_t nanoseconds) { event_ns = nanoseconds; }
void lw_set_bus(uint64_t bytes_per_us) { bus_bytes_per_us = bytes_per_us; }

cudaStream_t lw_work_in(cudaStream_t stream) {
    cudaStream_t before = current;
    current = stream;
    return before;
}

static void pass(int engine, uint64_t nanoseconds) {
    pthread_mutex_lock(&lock);
    Handle *stream = lw_handle(current, HANDLE_STREAM);
    bool apart = stream && stream->flags & cudaStreamNonBlocking;
    uint64_t *clock = stream ? &stream->time : &default_clock;
    uint64_t waits = apart ? 0 : stream ? default_clock : latest;
    uint64_t start = *clock > waits ? *clock : waits;
    if (engine >= 0 && engines[engine] > start) start = engines[engine];
    *clock = start + nanoseconds;
    if (engine >= 0) engines[engine] = *clock;
    if (!apart && *clock > latest) latest = *clock;
    pthread_mutex_unlock(&lock);
}

void lw_pass_time(uint64_t nanoseconds) {
    if (nanoseconds) pass(KERNELS, nanoseconds);
}

void lw_pass_time_of_copy(size_t bytes, int engine) {
    /* Read and written on the device, at what its memory clock and bus give; kHz and bits. */
    uint64_t clock = (uint64_t)lw_attribute(cudaDevAttrMemoryClockRate);
    uint64_t bus = (uint64_t)lw_attribute(cudaDevAttrGlobalMemoryBusWidth);
    uint64_t per_us = engine == KERNELS ? clock * bus / 8 / 1000 : bus_bytes_per_us;
    pass(engine, COPY_NS + bytes * 1000 / (per_us ? per_us : 1));
}

uint64_t lw_time_of_event(cudaStream_t stream) {
    cudaStream_t before = lw_work_in(stream);
    pass(-1, event_ns);
    lw_work_in(before);
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    return handle ? handle->time : default_clock;
}

void lw_wait_until(cudaStream_t stream, uint64_t time) {
    pthread_mutex_lock(&lock);
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    uint64_t *clock = handle ? &handle->time : &default_clock;
    if (*clock < time) *clock = time;
    pthread_mutex_unlock(&lock);
}
