/* Stream-ordered allocation: done at once, which every order allows. A pool is only a handle. */
#include "lanewise.h"

#include <string.h>

enum { BOTH = 1 << KIND_MALLOC | 1 << KIND_MANAGED };

static cudaMemPool_t default_pool(void) {
    static Handle *pool;
    if (!lw_handle(pool, HANDLE_POOL)) pool = lw_new_handle(HANDLE_POOL);
    return (cudaMemPool_t)pool;
}

static cudaMemPool_t chosen; /* cudaDeviceSetMemPool's */

static cudaMemPool_t current_pool(void) { return lw_handle(chosen, HANDLE_POOL) ? chosen : default_pool(); }

static cudaError_t allocate(void **pointer, size_t size, cudaStream_t stream, const char *made_by, const void *caller) {
    if (!lw_capturing(stream)) return lw_return(lw_allocate(pointer, size, KIND_MALLOC, made_by, 0, caller));
    Work work;
    REQUIRE(pointer, cudaErrorInvalidValue);
    cudaError_t error = lw_allocate_work(&work, size, made_by, caller);
    if (error != cudaSuccess) return lw_return(error);
    *pointer = work.memory.pointer;
    return lw_return(lw_issue(&work, stream));
}

API cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream) {
    ENTER_STREAM(stream);
    return allocate(pointer, size, stream, "cudaMallocAsync", CALLER);
}
SECOND_NAME(cudaMallocAsync, _ptsz)

API cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
    ENTER_STREAM(stream);
    REQUIRE(lw_handle(pool, HANDLE_POOL), cudaErrorInvalidValue);
    return allocate(pointer, size, stream, "cudaMallocFromPoolAsync", CALLER);
}
SECOND_NAME(cudaMallocFromPoolAsync, _ptsz)

API cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) {
    ENTER_STREAM(stream);
    if (!lw_capturing(stream)) return lw_return(lw_free(pointer, BOTH));
    Work work = {.type = cudaGraphNodeTypeMemFree, .memory.pointer = pointer};
    return lw_return(lw_issue(&work, stream));
}
SECOND_NAME(cudaFreeAsync, _ptsz)

API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    ENTER();
    REQUIRE(pool, cudaErrorInvalidValue);
    REQUIRE(device == 0, cudaErrorInvalidDevice);
    *pool = default_pool();
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
    cudaError_t error = cudaDeviceGetDefaultMemPool(pool, device);
    if (error == cudaSuccess) *pool = current_pool();
    return error;
}

API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    ENTER();
    REQUIRE(device == 0, cudaErrorInvalidDevice);
    REQUIRE(lw_handle(pool, HANDLE_POOL), cudaErrorInvalidValue);
    chosen = pool;
    return cudaSuccess;
}

API cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties) {
    ENTER();
    REQUIRE(pool && properties, cudaErrorInvalidValue);
    *pool = (cudaMemPool_t)lw_new_handle(HANDLE_POOL);
    return lw_return(*pool ? cudaSuccess : cudaErrorMemoryAllocation);
}

API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    ENTER();
    Handle *handle = lw_handle(pool, HANDLE_POOL);
    REQUIRE(handle && pool != default_pool(), cudaErrorInvalidValue);
    lw_delete_handle(handle);
    return cudaSuccess;
}

API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
    (void)keep;
    ENTER();
    return lw_return(lw_handle(pool, HANDLE_POOL) ? cudaSuccess : cudaErrorInvalidValue);
}

/* The release threshold is kept (in the handle's time); what a pool holds in reserve is nothing. */
API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    ENTER();
    Handle *handle = lw_handle(pool, HANDLE_POOL);
    REQUIRE(handle && value, cudaErrorInvalidValue);
    if (attribute == cudaMemPoolAttrReleaseThreshold) handle->time = *(uint64_t *)value;
    return cudaSuccess;
}

API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    ENTER();
    Handle *handle = lw_handle(pool, HANDLE_POOL);
    REQUIRE(handle && value, cudaErrorInvalidValue);
    if (attribute <= cudaMemPoolReuseAllowInternalDependencies) *(int *)value = 1;
    else *(uint64_t *)value = attribute == cudaMemPoolAttrReleaseThreshold ? handle->time : 0;
    return cudaSuccess;
}

API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count) {
    (void)list, (void)count;
    ENTER();
    return lw_return(lw_handle(pool, HANDLE_POOL) ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool, struct cudaMemLocation *location) {
    ENTER();
    REQUIRE(flags && location && lw_handle(pool, HANDLE_POOL), cudaErrorInvalidValue);
    *flags = location->type == cudaMemLocationTypeDevice && location->id == 0 ? cudaMemAccessFlagsProtReadWrite
                                                                              : cudaMemAccessFlagsProtNone;
    return cudaSuccess;
}

static bool on_the_device(const struct cudaMemLocation *location, enum cudaMemAllocationType type) {
    return location && location->type == cudaMemLocationTypeDevice && location->id == 0 &&
           type == cudaMemAllocationTypePinned;
}

API cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
                                         enum cudaMemAllocationType type) {
    ENTER();
    REQUIRE(pool && on_the_device(location, type), cudaErrorInvalidValue);
    *pool = default_pool();
    return cudaSuccess;
}

API cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
                                  enum cudaMemAllocationType type) {
    cudaError_t error = cudaMemGetDefaultMemPool(pool, location, type);
    if (error == cudaSuccess) *pool = current_pool();
    return error;
}

API cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
                                  cudaMemPool_t pool) {
    ENTER();
    REQUIRE(on_the_device(location, type), cudaErrorInvalidValue);
    return cudaDeviceSetMemPool(0, pool);
}
