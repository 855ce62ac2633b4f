/* What a run with checks is told besides: which bytes the host wrote or reads, copies and frees that were refused. */
#include "lanewise.h"

#include <stdlib.h>

static bool follows;

__attribute__((constructor)) static void loaded(void) { follows = getenv("LANEWISE_CHECKS") != NULL; }

/* {destination, source (0: not of the device), bytes} */
void lw_tell_copy(const void *to, const void *from, size_t size) {
    if (!follows || !size) return;
    Message request = {0};
    lw_put_u64(&request, lw_in_arena(to) ? (uint64_t)to : 0);
    lw_put_u64(&request, lw_in_arena(from) ? (uint64_t)from : 0);
    lw_put_u64(&request, size);
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
