/* cudaMemset and its kin. */
#include "lanewise.h"

#include <string.h>

static cudaError_t set(void *pointer, size_t pitch, size_t slice, int value, struct cudaExtent e) {
    char *here;
    if (!e.width || !e.height || !e.depth) return cudaSuccess;
    if (e.height > 1 && e.width > pitch) return cudaErrorInvalidValue;
    size_t span = (e.depth - 1) * slice + (e.height - 1) * pitch + e.width;
    cudaError_t error = lw_resolve(pointer, span, SIDE_DEVICE, &here);
    if (error != cudaSuccess) return error;
    lw_populate(here, span);
    for (size_t z = 0; z < e.depth; z++)
        for (size_t y = 0; y < e.height; y++) memset(here + z * slice + y * pitch, value, e.width);
    lw_pass_time_of_copy(e.width * e.height * e.depth, false);
    return cudaSuccess;
}

API cudaError_t cudaMemsetAsync(void *pointer, int value, size_t count, cudaStream_t stream) {
    ENTER_STREAM(stream);
    return lw_return(set(pointer, count, 0, value, (struct cudaExtent){count, 1, 1}));
}
SECOND_NAME(cudaMemsetAsync, _ptsz)

API cudaError_t cudaMemset(void *pointer, int value, size_t count) {
    return cudaMemsetAsync(pointer, value, count, NULL);
}
SECOND_NAME(cudaMemset, _ptds)

API cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                                  cudaStream_t stream) {
    ENTER_STREAM(stream);
    return lw_return(set(pointer, pitch, 0, value, (struct cudaExtent){width, height, 1}));
}
SECOND_NAME(cudaMemset2DAsync, _ptsz)

API cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height) {
    return cudaMemset2DAsync(pointer, pitch, value, width, height, NULL);
}
SECOND_NAME(cudaMemset2D, _ptds)

API cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr p, int value, struct cudaExtent extent, cudaStream_t stream) {
    ENTER_STREAM(stream);
    return lw_return(set(p.ptr, p.pitch, p.pitch * p.ysize, value, extent));
}
SECOND_NAME(cudaMemset3DAsync, _ptsz)

API cudaError_t cudaMemset3D(struct cudaPitchedPtr p, int value, struct cudaExtent extent) {
    return cudaMemset3DAsync(p, value, extent, NULL);
}
SECOND_NAME(cudaMemset3D, _ptds)
