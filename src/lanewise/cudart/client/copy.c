/* Copies. Device memory is reached through the second mapping; pointers are checked against the allocations. */
#include "lanewise.h"

#include <string.h>

/* Where the `size` bytes at a pointer can be touched: host memory, where the device's is not asked for, or one
 * allocation. Where the host's memory is asked for, the device's does as well (so does the card). */
cudaError_t lw_resolve(const void *pointer, size_t size, Side side, char **where) {
    uint64_t address;
    unsigned flags;
    *where = (char *)pointer;
    if (!size) return cudaSuccess;
    if (!lw_in_arena(pointer)) {
        if (!pointer) return cudaErrorInvalidValue;
        if (side != SIDE_DEVICE || lw_registered(pointer, size, &address, &flags)) return cudaSuccess;
        return cudaErrorInvalidValue;
    }
    Allocation a;
    address = (uint64_t)pointer;
    if (!lw_find_allocation(address, &a) || size > a.base + a.size - address) return cudaErrorInvalidValue;
    *where = lw_alias(address);
    return cudaSuccess;
}

cudaError_t lw_sides(enum cudaMemcpyKind kind, Side *destination, Side *source) {
    static const Side sides[][2] = {
        [cudaMemcpyHostToHost] = {SIDE_ANY, SIDE_ANY},
        [cudaMemcpyHostToDevice] = {SIDE_DEVICE, SIDE_ANY},
        [cudaMemcpyDeviceToHost] = {SIDE_ANY, SIDE_DEVICE},
        [cudaMemcpyDeviceToDevice] = {SIDE_DEVICE, SIDE_DEVICE},
        [cudaMemcpyDefault] = {SIDE_ANY, SIDE_ANY},
    };
    if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    *destination = sides[kind][0];
    *source = sides[kind][1];
    return cudaSuccess;
}

static size_t span(const Block *b, struct cudaExtent e) {
    return (e.depth - 1) * b->slice + (e.height - 1) * b->pitch + e.width;
}

cudaError_t lw_do_copy(const Work *work) {
    const Block *to = &work->copy.to, *from = &work->copy.from;
    struct cudaExtent e = work->copy.extent;
    Side to_side, from_side;
    char *to_here, *from_here;
    cudaError_t error = lw_sides(work->copy.kind, &to_side, &from_side);
    if (error != cudaSuccess) return error;
    if (!e.width || !e.height || !e.depth) return cudaSuccess;
    if (e.height > 1 && (e.width > to->pitch || e.width > from->pitch)) return cudaErrorInvalidPitchValue;
    error = lw_resolve(to->pointer, span(to, e), to_side, &to_here);
    if (error == cudaSuccess) error = lw_resolve(from->pointer, span(from, e), from_side, &from_here);
    if (error != cudaSuccess) return error;
    lw_populate(to_here, span(to, e));
    for (size_t z = 0; z < e.depth; z++)
        for (size_t y = 0; y < e.height; y++)
            memmove(to_here + z * to->slice + y * to->pitch, from_here + z * from->slice + y * from->pitch, e.width);
    bool on_device = work->copy.kind == cudaMemcpyDeviceToDevice ||
                     (work->copy.kind == cudaMemcpyDefault && lw_in_arena(to->pointer) && lw_in_arena(from->pointer));
    lw_pass_time_of_copy(e.width * e.height * e.depth, !on_device);
    return cudaSuccess;
}

Work lw_line_work(void *to, const void *from, size_t count, enum cudaMemcpyKind kind) {
    return (Work){.type = cudaGraphNodeTypeMemcpy,
                  .copy = {{to, count, count}, {from, count, count}, {count, 1, 1}, kind}};
}

static Block block_of(struct cudaPitchedPtr p, struct cudaPos at) {
    size_t slice = p.pitch * p.ysize;
    return (Block){(char *)p.ptr + at.z * slice + at.y * p.pitch + at.x, p.pitch, slice};
}

Work lw_copy_work(const struct cudaMemcpy3DParms *p) {
    return (Work){.type = cudaGraphNodeTypeMemcpy,
                  .copy = {block_of(p->dstPtr, p->dstPos), block_of(p->srcPtr, p->srcPos), p->extent, p->kind}};
}

static cudaError_t issue(Work work, cudaStream_t stream) { return lw_return(lw_issue(&work, stream)); }

API cudaError_t cudaMemcpy(void *to, const void *from, size_t count, enum cudaMemcpyKind kind) {
    ENTER();
    lw_drain_callbacks();
    lw_flush_output();
    Work work = lw_line_work(to, from, count, kind);
    return lw_return(lw_do_copy(&work));
}
SECOND_NAME(cudaMemcpy, _ptds)

API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t count, enum cudaMemcpyKind kind,
                                cudaStream_t stream) {
    ENTER_STREAM(stream);
    return issue(lw_line_work(to, from, count, kind), stream);
}
SECOND_NAME(cudaMemcpyAsync, _ptsz)

API cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t count) {
    ENTER();
    REQUIRE(!to_device && !from_device, cudaErrorInvalidDevice);
    return cudaMemcpy(to, from, count, cudaMemcpyDeviceToDevice);
}

API cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t count,
                                    cudaStream_t stream) {
    ENTER();
    REQUIRE(!to_device && !from_device, cudaErrorInvalidDevice);
    return cudaMemcpyAsync(to, from, count, cudaMemcpyDeviceToDevice, stream);
}

API cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                  size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    ENTER_STREAM(stream);
    REQUIRE(width <= to_pitch && width <= from_pitch, cudaErrorInvalidPitchValue);
    Work work = {.type = cudaGraphNodeTypeMemcpy,
                 .copy = {{to, to_pitch, 0}, {from, from_pitch, 0}, {width, height, 1}, kind}};
    return issue(work, stream);
}
SECOND_NAME(cudaMemcpy2DAsync, _ptsz)

API cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t height, enum cudaMemcpyKind kind) {
    cudaError_t error = cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, NULL);
    lw_flush_output();
    return error;
}
SECOND_NAME(cudaMemcpy2D, _ptds)

API cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
    ENTER_STREAM(stream);
    REQUIRE(p, cudaErrorInvalidValue);
    REQUIRE(!p->srcArray && !p->dstArray, cudaErrorNotSupported); /* arrays belong to textures */
    return issue(lw_copy_work(p), stream);
}
SECOND_NAME(cudaMemcpy3DAsync, _ptsz)

API cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
    cudaError_t error = cudaMemcpy3DAsync(p, NULL);
    lw_flush_output();
    return error;
}
SECOND_NAME(cudaMemcpy3D, _ptds)

/* --- variables by their host name */
static cudaError_t part_of(const void *symbol, size_t offset, size_t count, void **where) {
    uint64_t address;
    size_t size;
    cudaError_t error = lw_symbol(symbol, &address, &size);
    if (error != cudaSuccess) return error;
    if (offset > size || count > size - offset) return cudaErrorInvalidValue;
    *where = (void *)(address + offset);
    return cudaSuccess;
}

API cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t count, size_t offset,
                                        enum cudaMemcpyKind kind, cudaStream_t stream) {
    void *to;
    ENTER_STREAM(stream);
    REQUIRE(kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyHostToHost, cudaErrorInvalidMemcpyDirection);
    cudaError_t error = part_of(symbol, offset, count, &to);
    if (error != cudaSuccess) return lw_return(error);
    return issue(lw_line_work(to, from, count, kind), stream);
}
SECOND_NAME(cudaMemcpyToSymbolAsync, _ptsz)

API cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t count, size_t offset,
                                   enum cudaMemcpyKind kind) {
    return cudaMemcpyToSymbolAsync(symbol, from, count, offset, kind, NULL);
}
SECOND_NAME(cudaMemcpyToSymbol, _ptds)

API cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t count, size_t offset,
                                          enum cudaMemcpyKind kind, cudaStream_t stream) {
    void *from;
    ENTER_STREAM(stream);
    REQUIRE(kind != cudaMemcpyHostToDevice && kind != cudaMemcpyHostToHost, cudaErrorInvalidMemcpyDirection);
    cudaError_t error = part_of(symbol, offset, count, &from);
    if (error != cudaSuccess) return lw_return(error);
    return issue(lw_line_work(to, from, count, kind), stream);
}
SECOND_NAME(cudaMemcpyFromSymbolAsync, _ptsz)

API cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t count, size_t offset,
                                     enum cudaMemcpyKind kind) {
    cudaError_t error = cudaMemcpyFromSymbolAsync(to, symbol, count, offset, kind, NULL);
    lw_flush_output();
    return error;
}
SECOND_NAME(cudaMemcpyFromSymbol, _ptds)
