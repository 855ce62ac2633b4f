/* Allocations: device, managed and pinned memory. */
#include "lanewise.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { FROM_DEVICE = 1 << KIND_MALLOC | 1 << KIND_MANAGED, FROM_HOST = 1 << KIND_HOST, PITCH = 512 };

uint64_t lw_file_of(const void *address, char path[LW_PATH]) {
    Dl_info info;
    path[0] = 0;
    if (!dladdr(address, &info) || !info.dli_fname) return 0;
    if (strlen(info.dli_fname) < LW_PATH) strcpy(path, info.dli_fname);
    if (!strcmp(info.dli_fname, program_invocation_name)) { /* as it was typed, perhaps in another directory */
        ssize_t size = readlink("/proc/self/exe", path, LW_PATH - 1);
        if (size > 0) path[size] = 0;
    }
    return (uint64_t)info.dli_fbase;
}

void lw_put_place(Message *request, const void *address) {
    char path[LW_PATH];
    uint64_t base = lw_file_of(address, path);
    lw_put_text(request, path);
    lw_put_u64(request, base);
    lw_put_u64(request, (uint64_t)address);
}

/* {size, kind, file, where the file begins, caller} -> {address, id} */
cudaError_t lw_allocate(void **pointer, size_t size, int kind, const char *made_by, unsigned flags,
                        const void *caller) {
    if (!pointer) return cudaErrorInvalidValue;
    *pointer = NULL;
    if (!size) return cudaSuccess;
    Message request = {0}, reply = {0};
    Reader reader;
    lw_put_u64(&request, size);
    lw_put_u64(&request, (uint64_t)kind);
    lw_put_place(&request, caller);
    cudaError_t error = lw_call_reader(OP_ALLOCATE, &request, &reply, &reader);
    if (error == cudaSuccess) {
        Allocation made = {.base = lw_get_u64(&reader), .size = size, .id = lw_get_u64(&reader), .kind = kind,
                           .made_by = made_by, .flags = flags};
        bool shared = kind == KIND_MANAGED || kind == KIND_HOST;
        if (shared && !lw_open_to_host(made.base, made.size, true)) error = cudaErrorMemoryAllocation;
        lw_add_allocation(&made);
        *pointer = (void *)made.base;
    }
    lw_release(&reply);
    return error;
}

cudaError_t lw_free(void *pointer, unsigned kinds) {
    Allocation gone;
    if (!pointer) return cudaSuccess;
    if (!lw_find_allocation((uint64_t)pointer, &gone) || gone.base != (uint64_t)pointer || !(kinds >> gone.kind & 1))
        return cudaErrorInvalidValue;
    if (gone.flags & OF_A_GRAPH && !(kinds & OF_A_GRAPH)) return cudaSuccess;
    lw_remove_allocation(gone.base, &gone);
    if (gone.kind == KIND_MANAGED || gone.kind == KIND_HOST) lw_open_to_host(gone.base, gone.size, false);
    Message request = {0};
    lw_put_u64(&request, gone.base);
    return lw_call(OP_FREE, &request, NULL);
}

API cudaError_t cudaMalloc(void **pointer, size_t size) {
    ENTER();
    lw_flush_output();
    return lw_return(lw_allocate(pointer, size, KIND_MALLOC, "cudaMalloc", 0, CALLER));
}

API cudaError_t cudaMallocManaged(void **pointer, size_t size, unsigned flags) {
    ENTER();
    REQUIRE(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost, cudaErrorInvalidValue);
    return lw_return(lw_allocate(pointer, size, KIND_MANAGED, "cudaMallocManaged", flags, CALLER));
}

API cudaError_t cudaMallocHost(void **pointer, size_t size) {
    ENTER();
    return lw_return(lw_allocate(pointer, size, KIND_HOST, "cudaMallocHost", 0, CALLER));
}

API cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned flags) {
    ENTER();
    REQUIRE(flags <= 7, cudaErrorInvalidValue);
    return lw_return(lw_allocate(pointer, size, KIND_HOST, "cudaHostAlloc", flags, CALLER));
}

API cudaError_t cudaFree(void *pointer) {
    ENTER();
    lw_drain_callbacks();
    if (pointer) lw_tell_order(ORDER_SYNC_DEVICE, NULL, 0); /* as cards do */
    lw_flush_output();
    return lw_return(lw_tell_bad(lw_free(pointer, FROM_DEVICE), "cudaFree", pointer, NULL, 0, 0, CALLER));
}

API cudaError_t cudaFreeHost(void *pointer) {
    ENTER();
    lw_drain_callbacks();
    return lw_return(lw_tell_bad(lw_free(pointer, FROM_HOST), "cudaFreeHost", pointer, NULL, 0, 0, CALLER));
}

API cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
    ENTER();
    REQUIRE(pitch, cudaErrorInvalidValue);
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    REQUIRE(!height || *pitch <= SIZE_MAX / height, cudaErrorMemoryAllocation);
    return lw_return(lw_allocate(pointer, *pitch * height, KIND_MALLOC, "cudaMallocPitch", 0, CALLER));
}

API cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent) {
    ENTER();
    REQUIRE(pitched, cudaErrorInvalidValue);
    size_t rows, bytes, pitch = (extent.width + PITCH - 1) / PITCH * PITCH;
    REQUIRE(!__builtin_mul_overflow(extent.height, extent.depth, &rows) && !__builtin_mul_overflow(rows, pitch, &bytes),
            cudaErrorMemoryAllocation);
    cudaError_t error = lw_allocate(&pitched->ptr, bytes, KIND_MALLOC, "cudaMalloc3D", 0, CALLER);
    pitched->pitch = pitch;
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return lw_return(error);
}

API cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
    ENTER();
    REQUIRE(free && total, cudaErrorInvalidValue);
    Message reply = {0};
    Reader reader;
    cudaError_t error = lw_call_reader(OP_MEMORY_INFO, NULL, &reply, &reader);
    if (error == cudaSuccess) {
        *free = lw_get_u64(&reader);
        *total = lw_get_u64(&reader);
    }
    lw_release(&reply);
    return lw_return(error);
}

API cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    Allocation a;
    uint64_t address;
    unsigned registered;
    ENTER();
    REQUIRE(device && !flags, cudaErrorInvalidValue);
    if (lw_in_arena(host) && lw_find_allocation((uint64_t)host, &a) && a.kind == KIND_HOST) *device = host;
    else if (lw_registered(host, 1, &address, &registered)) *device = (void *)address;
    else return lw_return(cudaErrorInvalidValue);
    return cudaSuccess;
}

API cudaError_t cudaHostGetFlags(unsigned *flags, void *host) {
    Allocation a;
    uint64_t address;
    ENTER();
    REQUIRE(flags, cudaErrorInvalidValue);
    if (lw_registered(host, 1, &address, flags)) return cudaSuccess;
    REQUIRE(lw_in_arena(host) && lw_find_allocation((uint64_t)host, &a) && a.kind == KIND_HOST, cudaErrorInvalidValue);
    *flags = a.flags | cudaHostAllocMapped;
    return cudaSuccess;
}

API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    Allocation a;
    uint64_t address;
    unsigned flags;
    ENTER();
    REQUIRE(attributes, cudaErrorInvalidValue);
    memset(attributes, 0, sizeof *attributes);
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->hostPointer = (void *)pointer;
    if (lw_registered(pointer, 1, &address, &flags)) {
        *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeHost, .devicePointer = (void *)address,
                                                     .hostPointer = (void *)pointer};
    } else if (lw_in_arena(pointer) && lw_find_allocation((uint64_t)pointer, &a)) {
        attributes->device = 0;
        attributes->devicePointer = (void *)pointer;
        attributes->type = a.kind == KIND_MANAGED ? cudaMemoryTypeManaged
                           : a.kind == KIND_HOST  ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
        if (attributes->type == cudaMemoryTypeDevice) attributes->hostPointer = NULL;
    }
    return cudaSuccess;
}

/* Where managed memory lies is no question here: hints are checked and have no effect. */
API cudaError_t cudaMemAdvise(const void *pointer, size_t count, enum cudaMemoryAdvise advice,
                              struct cudaMemLocation location) {
    char *where;
    (void)advice, (void)location;
    ENTER();
    return lw_return(lw_resolve(pointer, count, SIDE_ANY, &where));
}

API cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t count, struct cudaMemLocation location,
                                     unsigned flags, cudaStream_t stream) {
    char *where;
    (void)location, (void)flags;
    ENTER_STREAM(stream);
    return lw_return(lw_resolve(pointer, count, SIDE_ANY, &where));
}
SECOND_NAME(cudaMemPrefetchAsync, _ptsz)

API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t length, unsigned flags) {
    Allocation a;
    (void)length;
    ENTER_STREAM(stream);
    REQUIRE(flags && flags <= 7 && lw_in_arena(pointer) && lw_find_allocation((uint64_t)pointer, &a) &&
            a.kind == KIND_MANAGED, cudaErrorInvalidValue);
    return cudaSuccess;
}
SECOND_NAME(cudaStreamAttachMemAsync, _ptsz)

/* --- batches: nothing is prefetched */
static cudaError_t check_ranges(void **pointers, const size_t *sizes, size_t count) {
    char *where;
    cudaError_t error = count && pointers && sizes ? cudaSuccess : cudaErrorInvalidValue;
    for (size_t i = 0; error == cudaSuccess && i < count; i++) error = lw_resolve(pointers[i], sizes[i], SIDE_ANY, &where);
    return error;
}

API cudaError_t cudaMemPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count, struct cudaMemLocation *places,
                                          size_t *firsts, size_t number, unsigned long long flags, cudaStream_t stream) {
    (void)firsts, (void)flags;
    ENTER_STREAM(stream);
    REQUIRE(places && number, cudaErrorInvalidValue);
    return lw_return(check_ranges(pointers, sizes, count));
}
SECOND_NAME(cudaMemPrefetchBatchAsync, _ptsz)

/* What is discarded may hold anything: it stays as it is. */
API cudaError_t cudaMemDiscardBatchAsync(void **pointers, size_t *sizes, size_t count, unsigned long long flags,
                                         cudaStream_t stream) {
    (void)flags;
    ENTER_STREAM(stream);
    return lw_return(check_ranges(pointers, sizes, count));
}
SECOND_NAME(cudaMemDiscardBatchAsync, _ptsz)

API cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count,
                                                    struct cudaMemLocation *places, size_t *firsts, size_t number,
                                                    unsigned long long flags, cudaStream_t stream) {
    return cudaMemPrefetchBatchAsync(pointers, sizes, count, places, firsts, number, flags, stream);
}
SECOND_NAME(cudaMemDiscardAndPrefetchBatchAsync, _ptsz)
