/* Kernel launches. A launch is over when the call returns; its fault is seen by the next call, as on the card. */
#include "lanewise.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PUSHED = 32 };

/* f<<<grid, block>>>() is a push, the evaluation of the arguments, and a pop in the stub. */
static _Thread_local struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} pushed[PUSHED];
static _Thread_local int depth;

API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
    if (depth == PUSHED) return 1;
    pushed[depth].grid = grid;
    pushed[depth].block = block;
    pushed[depth].shared = shared;
    pushed[depth].stream = stream;
    depth++;
    return 0;
}

API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    if (!depth) return lw_return(cudaErrorMissingConfiguration);
    depth--;
    *grid = pushed[depth].grid;
    *block = pushed[depth].block;
    *shared = pushed[depth].shared;
    *(cudaStream_t *)stream = pushed[depth].stream;
    return cudaSuccess;
}

static bool launches_block; /* a fault is then the launch's own result */

__attribute__((constructor)) static void loaded(void) {
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");
    launches_block = value && strcmp(value, "0");
}

cudaError_t lw_pack_kernel(Work *work, const void *function, const Shape *shape, void **args) {
    Kernel *kernel;
    cudaError_t error = lw_kernel(function, &kernel);
    if (error != cudaSuccess) return error;
    *work = (Work){.type = cudaGraphNodeTypeKernel,
                   .kernel = {.function = function, .shape = *shape, .params_size = kernel->params_size}};
    work->kernel.params = calloc(kernel->params_size + 1, 1);
    work->kernel.args = calloc(kernel->param_count + 1, sizeof *args);
    if (!work->kernel.params || !work->kernel.args) {
        lw_release_work(work);
        return cudaErrorMemoryAllocation;
    }
    for (size_t i = 0; i < kernel->param_count; i++) {
        work->kernel.args[i] = work->kernel.params + kernel->params[i].offset;
        memcpy(work->kernel.args[i], args[i], kernel->params[i].size);
    }
    return cudaSuccess;
}

/* {function, grid, block, cluster (0: none), dynamic shared bytes, stream, cooperative, parameters} -> {what it printed
 * on stdout, on stderr} */
cudaError_t lw_do_kernel(const Work *work, cudaStream_t stream) {
    const Shape *shape = &work->kernel.shape;
    Kernel *kernel;
    cudaError_t error = lw_kernel(work->kernel.function, &kernel);
    if (error != cudaSuccess) return error;
    Message request = {0}, reply = {0};
    lw_put_u64(&request, kernel->function);
    const dim3 *sizes[] = {&shape->grid, &shape->block, &shape->cluster};
    for (int i = 0; i < 3; i++) {
        lw_put_u64(&request, sizes[i]->x);
        lw_put_u64(&request, sizes[i]->y);
        lw_put_u64(&request, sizes[i]->z);
    }
    lw_put_u64(&request, shape->shared);
    lw_put_u64(&request, lw_stream_number(stream));
    lw_put_u64(&request, shape->cooperative);
    lw_put_bytes(&request, work->kernel.params, work->kernel.params_size);
    Reader reader;
    error = lw_call_reader(OP_LAUNCH, &request, &reply, &reader);
    if (reply.size) {
        size_t size;
        const void *text = lw_get_bytes(&reader, &size);
        lw_keep_output(STDOUT_FILENO, text, size);
        text = lw_get_bytes(&reader, &size);
        lw_keep_output(STDERR_FILENO, text, size);
    }
    lw_release(&reply);
    return error;
}

dim3 lw_cluster_of(const Kernel *kernel, const cudaLaunchConfig_t *config) {
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *a = &config->attrs[i];
        if (a->id == cudaLaunchAttributeClusterDimension)
            return (dim3){a->val.clusterDim.x, a->val.clusterDim.y, a->val.clusterDim.z};
    }
    const struct cudaFuncAttributes *f = &kernel->attributes;
    if (!f->requiredClusterWidth) return (dim3){0, 0, 0};
    dim3 set = {f->requiredClusterWidth, f->requiredClusterHeight, f->requiredClusterDepth};
    if (!set.y) set.y = 1;
    if (!set.z) set.z = 1;
    return set;
}

static cudaError_t launch(const void *function, const Shape *shape, cudaStream_t stream, void **args) {
    Work work;
    ENTER_STREAM(stream);
    cudaError_t error = lw_pack_kernel(&work, function, shape, args);
    if (error == cudaSuccess) error = lw_issue(&work, stream);
    if (error == cudaSuccess && launches_block) return lw_enter();
    return lw_return(error);
}

API cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                                 cudaStream_t stream) {
    return launch(function, &(Shape){.grid = grid, .block = block, .shared = shared}, stream, args);
}
SECOND_NAME(cudaLaunchKernel, _ptsz)

API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                   cudaStream_t stream) {
    return cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}
SECOND_NAME(__cudaLaunchKernel, _ptsz)

API cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                                            cudaStream_t stream) {
    Shape shape = {.grid = grid, .block = block, .shared = shared, .cooperative = true};
    return launch(function, &shape, stream, args);
}
SECOND_NAME(cudaLaunchCooperativeKernel, _ptsz)

API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args) {
    REQUIRE(config, cudaErrorInvalidValue);
    Shape shape = {.grid = config->gridDim, .block = config->blockDim, .shared = config->dynamicSmemBytes};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *a = &config->attrs[i];
        if (a->id == cudaLaunchAttributeCooperative) shape.cooperative = a->val.cooperative;
        /* The others (priority, memory synchronisation domains, carveout, ...) do not change what a kernel computes. */
    }
    Kernel *kernel;
    ENTER();
    cudaError_t error = lw_kernel(function, &kernel);
    if (error != cudaSuccess) return lw_return(error);
    shape.cluster = lw_cluster_of(kernel, config);
    return launch(function, &shape, config->stream, args);
}
SECOND_NAME(cudaLaunchKernelExC, _ptsz)
