/* What a run with checks is told besides: which bytes the host wrote or reads, what orders the work of streams, copies and
 * frees that were refused. */
#include "lanewise.h"

#include <stdlib.h>
#include <string.h>

static bool follows, follows_order;
static _Thread_local const void *came_from;
extern const char __ehdr_start __attribute__((visibility("hidden"))), _end __attribute__((visibility("hidden")));

__attribute__((constructor)) static void loaded(void) {
    const char *value = getenv("LANEWISE_CHECKS");
    follows = value != NULL;
    follows_order = value && !strcmp(value, "order");
}

/* Calls of this library among themselves do not count. */
void lw_come_from(const void *caller) {
    if ((const char *)caller < &__ehdr_start || (const char *)caller >= &_end) came_from = caller;
}

const void *lw_came_from(void) { return came_from; }

bool lw_follows_order(void) { return follows_order; }

/* {what, stream (an own number for each thread's default stream), flags of the stream, number, nodes before, their numbers}
 */
static void tell(int what, cudaStream_t stream, uint64_t number, const size_t *after, size_t count) {
    Message request = {0};
    Handle *handle = lw_handle(stream, HANDLE_STREAM);
    lw_put_u64(&request, (uint64_t)what);
    lw_put_u64(&request, stream == cudaStreamPerThread ? 1ull << 32 | lw_host_thread() : lw_stream_number(stream));
    lw_put_u64(&request, handle ? handle->flags : 0);
    lw_put_u64(&request, number);
    lw_put_u64(&request, count);
    for (size_t i = 0; i < count; i++) lw_put_u64(&request, after[i]);
    lw_call(OP_ORDER, &request, NULL);
}

void lw_tell_order(int what, cudaStream_t stream, uint64_t number) {
    if (follows_order) tell(what, stream, number, NULL, 0);
}

void lw_tell_node(cudaStream_t stream, const size_t *after, size_t count) {
    if (follows_order) tell(ORDER_NODE, stream, 0, after, count);
}

/* {destination, source (0: not of the device), bytes, place of the call} */
void lw_tell_copy(const void *to, const void *from, size_t size) {
    if (!follows || !size) return;
    Message request = {0};
    lw_put_u64(&request, lw_in_arena(to) ? (uint64_t)to : 0);
    lw_put_u64(&request, lw_in_arena(from) ? (uint64_t)from : 0);
    lw_put_u64(&request, size);
    lw_put_place(&request, came_from);
    lw_call(OP_COPIED, &request, NULL);
}

/* {call, destination, source, bytes (0: a free of the destination), cudaMemcpyKind, place of the call} */
cudaError_t lw_tell_bad(cudaError_t error, const char *call, const void *to, const void *from, size_t size, int kind,
                        const void *caller) {
    if (!follows || error != cudaErrorInvalidValue) return error;
    Message request = {0};
    lw_put_text(&request, call);
    lw_put_u64(&request, (uint64_t)to);
    lw_put_u64(&request, (uint64_t)from);
    lw_put_u64(&request, size);
    lw_put_u64(&request, (uint64_t)kind);
    lw_put_place(&request, caller);
    lw_call(OP_BAD_CALL, &request, NULL);
    return error;
}
