/* cudaMemset and its kin. */
#include "lanewise.h"

#include <string.h>

static void fill(char *row, unsigned value, size_t element, size_t width) {
    if (element == 1) memset(row, (int)value, width);
    else if (element == 2) for (size_t i = 0; i < width; i++) ((uint16_t *)row)[i] = (uint16_t)value;
    else for (size_t i = 0; i < width; i++) ((uint32_t *)row)[i] = value;
}

/* `width` counts elements of 1, 2 or 4 bytes. */
cudaError_t lw_do_set(const Work *work) {
    const struct cudaMemsetParams *p = &work->set.params;
    size_t bytes = p->width * p->elementSize;
    char *here;
    if (!p->width || !p->height || !work->set.depth) return cudaSuccess;
    if (p->height > 1 && bytes > p->pitch) return cudaErrorInvalidValue;
    size_t span = (work->set.depth - 1) * work->set.slice + (p->height - 1) * p->pitch + bytes;
    cudaError_t error = lw_resolve(p->dst, span, SIDE_DEVICE, &here);
    if (error != cudaSuccess) return error;
    lw_populate(here, span);
    for (size_t z = 0; z < work->set.depth; z++)
        for (size_t y = 0; y < p->height; y++) {
            fill(here + z * work->set.slice + y * p->pitch, p->value, p->elementSize, p->width);
            lw_tell_copy((char *)p->dst + z * work->set.slice + y * p->pitch, NULL, bytes);
        }
    lw_pass_time_of_copy(bytes * p->height * work->set.depth, KERNELS);
    return cudaSuccess;
}

static cudaError_t set(void *pointer, size_t pitch, size_t slice, int value, struct cudaExtent e, cudaStream_t stream) {
    Work work = {.type = cudaGraphNodeTypeMemset,
                 .set = {{.dst = pointer, .pitch = pitch, .value = (unsigned)value & 0xff, .elementSize = 1,
                          .width = e.width, .height = e.height}, slice, e.depth}};
    return lw_return(lw_issue(&work, stream));
}

API cudaError_t cudaMemsetAsync(void *pointer, int value, size_t count, cudaStream_t stream) {
    ENTER_STREAM(stream);
    return set(pointer, count, 0, value, (struct cudaExtent){count, 1, 1}, stream);
}
SECOND_NAME(cudaMemsetAsync, _ptsz)

API cudaError_t cudaMemset(void *pointer, int value, size_t count) {
    lw_come_from(CALLER);
    return cudaMemsetAsync(pointer, value, count, NULL);
}
SECOND_NAME(cudaMemset, _ptds)

API cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                                  cudaStream_t stream) {
    ENTER_STREAM(stream);
    return set(pointer, pitch, 0, value, (struct cudaExtent){width, height, 1}, stream);
}
SECOND_NAME(cudaMemset2DAsync, _ptsz)

API cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height) {
    lw_come_from(CALLER);
    return cudaMemset2DAsync(pointer, pitch, value, width, height, NULL);
}
SECOND_NAME(cudaMemset2D, _ptds)

API cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr p, int value, struct cudaExtent extent, cudaStream_t stream) {
    ENTER_STREAM(stream);
    return set(p.ptr, p.pitch, p.pitch * p.ysize, value, extent, stream);
}
SECOND_NAME(cudaMemset3DAsync, _ptsz)

API cudaError_t cudaMemset3D(struct cudaPitchedPtr p, int value, struct cudaExtent extent) {
    lw_come_from(CALLER);
    return cudaMemset3DAsync(p, value, extent, NULL);
}
SECOND_NAME(cudaMemset3D, _ptds)
