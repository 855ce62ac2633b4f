/* The rest: profiler switches, and calls that this version knows but does not support. */
#include "lanewise.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

API cudaError_t cudaProfilerStart(void) { return lw_enter(); }
API cudaError_t cudaProfilerStop(void) { return lw_enter(); }

/* Every stub ends here: the emulator's process puts the name into the report. */
int lw_unsupported(const char *name) {
    Message request = {0};
    if (lw_enter() == cudaSuccess) {
        lw_put_text(&request, name);
        lw_call(OP_UNSUPPORTED, &request, NULL);
    }
    return (int)lw_return(cudaErrorNotSupported);
}

cudaError_t lw_refuse(cudaError_t error, const void *caller, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    Message request = {0};
    lw_put_text(&request, cudaGetErrorName(error));
    lw_put_text(&request, text);
    lw_put_place(&request, caller);
    lw_call(OP_REFUSED, &request, NULL);
    return error;
}

API struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f) {
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}
