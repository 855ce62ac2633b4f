/* Errors: the last one of each thread, and the fault of a kernel, which stays until the process ends or resets. */
#include "lanewise.h"

#include <stdatomic.h>
#include <stdlib.h>

static _Thread_local cudaError_t last_error;
static _Atomic int fault; /* of the device: a kernel failed */

cudaError_t lw_enter(void) {
    if (!lw_connect()) return lw_return(cudaErrorInitializationError);
    return lw_return((cudaError_t)fault);
}

cudaError_t lw_return(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

void lw_set_fault(cudaError_t error) {
    if (!fault) fault = error;
}

void lw_clear_fault(void) {
    fault = 0;
    last_error = cudaSuccess;
}

uint64_t lw_host_thread(void) {
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t number; /* from 1 */
    if (!number) number = ++threads;
    return number - 1;
}

/* A fault is found out by the first call that waits or works, and then by every other; these two only tell what was
 * returned before. */
API cudaError_t cudaGetLastError(void) {
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

API cudaError_t cudaPeekAtLastError(void) { return last_error; }

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
#define ERROR(code, name, text) {code, name, text},
#include "error_table.h" /* generated */
};

API const char *cudaGetErrorName(cudaError_t error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == (int)error) return errors[i].name;
    return "unrecognized error code";
}

API const char *cudaGetErrorString(cudaError_t error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == (int)error) return errors[i].text;
    return "unrecognized error code";
}
