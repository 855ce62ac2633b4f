/* What a program asks about a kernel and sets on it, and how many of its blocks fit. */
#include "lanewise.h"

API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
    Kernel *kernel;
    ENTER();
    REQUIRE(attributes, cudaErrorInvalidValue);
    cudaError_t error = lw_kernel(function, &kernel);
    if (error == cudaSuccess) *attributes = kernel->attributes;
    return lw_return(error);
}

API cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
    Kernel *kernel;
    ENTER();
    cudaError_t error = lw_kernel(function, &kernel);
    if (error != cudaSuccess) return lw_return(error);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        Message request = {0};
        lw_put_u64(&request, kernel->function);
        lw_put_u64(&request, (uint64_t)(int64_t)value);
        error = lw_call(OP_SET_MAX_DYNAMIC_SHARED, &request, NULL);
        if (error == cudaSuccess) kernel->attributes.maxDynamicSharedSizeBytes = value;
    } else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
        if (value < -1 || value > 100) error = cudaErrorInvalidValue;
        else kernel->attributes.preferredShmemCarveout = value;
    } else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
        Message request = {0};
        lw_put_u64(&request, kernel->function);
        lw_put_u64(&request, value != 0);
        error = lw_call(OP_ALLOW_CLUSTERS, &request, NULL);
        if (error == cudaSuccess) kernel->attributes.nonPortableClusterSizeAllowed = value;
    } else if (attribute >= cudaFuncAttributeRequiredClusterWidth &&
               attribute <= cudaFuncAttributeRequiredClusterDepth) {
        struct cudaFuncAttributes *a = &kernel->attributes;
        int *size[] = {&a->requiredClusterWidth, &a->requiredClusterHeight, &a->requiredClusterDepth};
        if (value < 0 || a->clusterDimMustBeSet) error = cudaErrorInvalidValue;
        else *size[attribute - cudaFuncAttributeRequiredClusterWidth] = value;
    } else if (attribute == cudaFuncAttributeClusterSchedulingPolicyPreference) {
        if (value < 0 || value > (int)cudaClusterSchedulingPolicyLoadBalancing) error = cudaErrorInvalidValue;
        else kernel->attributes.clusterSchedulingPolicyPreference = value;
    } else if (attribute == cudaFuncAttributeClusterDimMustBeSet) {
        error = cudaErrorInvalidValue;
    } else if ((int)attribute < 8 || attribute >= cudaFuncAttributeMax) {
        error = cudaErrorInvalidValue;
    }
    return lw_return(error);
}

API cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config) {
    Kernel *kernel;
    (void)config;
    ENTER();
    return lw_return(lw_kernel(function, &kernel));
}

API cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config) {
    return cudaFuncSetCacheConfig(function, (enum cudaFuncCache)config);
}

API cudaError_t cudaFuncGetName(const char **name, const void *function) {
    Kernel *kernel;
    ENTER();
    REQUIRE(name, cudaErrorInvalidValue);
    cudaError_t error = lw_kernel(function, &kernel);
    if (error == cudaSuccess) *name = kernel->name;
    return lw_return(error);
}

API cudaError_t cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *size) {
    Kernel *kernel;
    ENTER();
    cudaError_t error = lw_kernel(function, &kernel);
    if (error != cudaSuccess) return lw_return(error);
    REQUIRE(index < kernel->param_count && offset, cudaErrorInvalidValue);
    *offset = kernel->params[index].offset;
    if (size) *size = kernel->params[index].size;
    return cudaSuccess;
}

API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                       int threads, size_t shared, unsigned flags) {
    Kernel *kernel;
    (void)flags;
    ENTER();
    REQUIRE(blocks && threads > 0, cudaErrorInvalidValue);
    cudaError_t error = lw_kernel(function, &kernel);
    if (error != cudaSuccess) return lw_return(error);
    Message request = {0}, reply = {0};
    Reader reader;
    lw_put_u64(&request, kernel->function);
    lw_put_u64(&request, (uint64_t)threads);
    lw_put_u64(&request, shared);
    error = lw_call_reader(OP_OCCUPANCY, &request, &reply, &reader);
    if (error == cudaSuccess) *blocks = (int)lw_get_u64(&reader);
    lw_release(&reply);
    return lw_return(error);
}

API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                              size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

/* {function, threads, shared bytes, grid, cluster} -> a number; for the largest cluster, grid and cluster are 0. */
static cudaError_t clusters(int *number, const void *function, const cudaLaunchConfig_t *config, bool largest) {
    Kernel *kernel;
    ENTER();
    REQUIRE(number && config && config->gridDim.x, cudaErrorInvalidValue);
    cudaError_t error = lw_kernel(function, &kernel);
    if (error != cudaSuccess) return lw_return(error);
    Message request = {0}, reply = {0};
    Reader reader;
    dim3 block = config->blockDim, grid = config->gridDim, cluster = lw_cluster_of(kernel, config);
    if (largest) grid = cluster = (dim3){0, 0, 0};
    lw_put_u64(&request, kernel->function);
    lw_put_u64(&request, (uint64_t)block.x * block.y * block.z);
    lw_put_u64(&request, config->dynamicSmemBytes);
    const dim3 *sizes[] = {&grid, &cluster};
    for (int i = 0; i < 2; i++) {
        lw_put_u64(&request, sizes[i]->x);
        lw_put_u64(&request, sizes[i]->y);
        lw_put_u64(&request, sizes[i]->z);
    }
    error = lw_call_reader(OP_CLUSTERS, &request, &reply, &reader);
    if (error == cudaSuccess) *number = (int)lw_get_u64(&reader);
    lw_release(&reply);
    return lw_return(error);
}

API cudaError_t cudaOccupancyMaxActiveClusters(int *number, const void *function, const cudaLaunchConfig_t *config) {
    return clusters(number, function, config, false);
}

API cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *function, const cudaLaunchConfig_t *config) {
    return clusters(size, function, config, true);
}

API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks,
                                                          int threads) {
    enum { UNIT = 128 };
    Kernel *kernel;
    ENTER();
    REQUIRE(bytes && blocks > 0 && threads > 0, cudaErrorInvalidValue);
    cudaError_t error = lw_kernel(function, &kernel);
    if (error != cudaSuccess) return lw_return(error);
    /* An even share of a multiprocessor, less the kernel's own, and no more than it may have. */
    size_t share = lw_properties()->sharedMemPerMultiprocessor / (size_t)blocks / UNIT * UNIT;
    size_t own = kernel->attributes.sharedSizeBytes, most = (size_t)kernel->attributes.maxDynamicSharedSizeBytes;
    size_t left = share > own ? share - own : 0;
    *bytes = left < most ? left : most;
    return cudaSuccess;
}

API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value,
                                                int device) {
    ENTER();
    REQUIRE(device == 0, cudaErrorInvalidDevice);
    return cudaFuncSetAttribute((const void *)kernel, attribute, value);
}
