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

/* Where the host may touch the first byte; NULL of an array, whose rows are found one by one. */
static cudaError_t open_block(const Block *b, struct cudaExtent e, Side side, char **here) {
    *here = NULL;
    if (b->array) return cudaSuccess;
    if (e.height > 1 && e.width > b->pitch) return cudaErrorInvalidPitchValue;
    return lw_resolve(b->pointer, span(b, e), side, here);
}

static char *at(const Block *b, char *here, size_t x, size_t y, size_t z, size_t *run) {
    if (b->array) return lw_array_run(b->array, b->x + x, b->y + y, b->z + z, run);
    *run = SIZE_MAX;
    return here + z * b->slice + y * b->pitch + x;
}

static void copy_row(const Block *to, char *to_here, const Block *from, char *from_here, size_t width, size_t y,
                     size_t z) {
    for (size_t x = 0, run; x < width; x += run) {
        size_t other;
        char *target = at(to, to_here, x, y, z, &run), *source = at(from, from_here, x, y, z, &other);
        if (other < run) run = other;
        if (width - x < run) run = width - x;
        memmove(target, source, run);
    }
}

static bool on_device(const Block *b) { return b->array || lw_in_arena(b->pointer); }

/* Where a row begins, as the program sees it; null of an array. */
static const void *row_of(const Block *b, size_t y, size_t z) {
    return b->array ? NULL : (const char *)b->pointer + z * b->slice + y * b->pitch;
}

cudaError_t lw_do_copy(const Work *work) {
    const Block *to = &work->copy.to, *from = &work->copy.from;
    struct cudaExtent e = work->copy.extent;
    Side to_side, from_side;
    char *to_here, *from_here;
    cudaError_t error = lw_sides(work->copy.kind, &to_side, &from_side);
    if (error != cudaSuccess) return error;
    if (!e.width || !e.height || !e.depth) return cudaSuccess;
    error = open_block(to, e, to_side, &to_here);
    if (error == cudaSuccess) error = open_block(from, e, from_side, &from_here);
    if (error != cudaSuccess) return error;
    if (!to->array) lw_populate(to_here, span(to, e));
    for (size_t z = 0; z < e.depth; z++)
        for (size_t y = 0; y < e.height; y++) {
            copy_row(to, to_here, from, from_here, e.width, y, z);
            if (!to->array || !from->array) lw_tell_copy(row_of(to, y, z), row_of(from, y, z), e.width);
        }
    bool device = work->copy.kind == cudaMemcpyDeviceToDevice ||
                  (work->copy.kind == cudaMemcpyDefault && on_device(to) && on_device(from));
    lw_pass_time_of_copy(e.width * e.height * e.depth,
                         device ? KERNELS : on_device(from) ? COPY_TO_HOST : COPY_TO_DEVICE);
    return cudaSuccess;
}

Work lw_line_work(void *to, const void *from, size_t count, enum cudaMemcpyKind kind) {
    return (Work){.type = cudaGraphNodeTypeMemcpy,
                  .copy = {{.pointer = to, .pitch = count, .slice = count},
                           {.pointer = from, .pitch = count, .slice = count}, {count, 1, 1}, kind}};
}

static bool block_of(Block *block, const Array *array, struct cudaPitchedPtr p, struct cudaPos at,
                     struct cudaExtent e) {
    if (array) {
        *block = (Block){.array = array, .x = at.x * array->element, .y = at.y, .z = at.z};
        return !p.ptr && block->x <= array->row && e.width <= array->row - block->x && at.y <= array->rows &&
               e.height <= array->rows - at.y && at.z <= array->slices && e.depth <= array->slices - at.z;
    }
    size_t slice = p.pitch * p.ysize;
    *block = (Block){.pointer = (char *)p.ptr + at.z * slice + at.y * p.pitch + at.x, .pitch = p.pitch, .slice = slice};
    return true;
}

/* The extent is in elements of the array where there is one, else in bytes. */
cudaError_t lw_copy_work(Work *work, const struct cudaMemcpy3DParms *p) {
    if (!p) return cudaErrorInvalidValue;
    const Array *to = p->dstArray ? lw_array(p->dstArray) : NULL, *from = p->srcArray ? lw_array(p->srcArray) : NULL;
    if ((p->dstArray && !to) || (p->srcArray && !from)) return cudaErrorInvalidResourceHandle;
    if (to && from && to->element != from->element) return cudaErrorInvalidValue;
    *work = (Work){.type = cudaGraphNodeTypeMemcpy, .copy.extent = p->extent, .copy.kind = p->kind};
    work->copy.extent.width *= to ? to->element : from ? from->element : 1;
    bool good = block_of(&work->copy.to, to, p->dstPtr, p->dstPos, work->copy.extent) &&
                block_of(&work->copy.from, from, p->srcPtr, p->srcPos, work->copy.extent);
    return good ? cudaSuccess : cudaErrorInvalidValue;
}

static void describe(const Block *b, struct cudaExtent e, cudaArray_t *array, struct cudaPos *at, struct cudaPitchedPtr *p) {
    if (b->array) {
        *array = b->array->handle;
        *at = (struct cudaPos){b->x / b->array->element, b->y, b->z};
        return;
    }
    *p = (struct cudaPitchedPtr){(void *)b->pointer, b->pitch, e.width, b->pitch && b->slice ? b->slice / b->pitch : e.height};
}

void lw_copy_params(const Work *work, struct cudaMemcpy3DParms *p) {
    const Block *to = &work->copy.to, *from = &work->copy.from;
    *p = (struct cudaMemcpy3DParms){.extent = work->copy.extent, .kind = work->copy.kind};
    describe(to, p->extent, &p->dstArray, &p->dstPos, &p->dstPtr);
    describe(from, p->extent, &p->srcArray, &p->srcPos, &p->srcPtr);
    p->extent.width /= to->array ? to->array->element : from->array ? from->array->element : 1;
}

/* The call returns when the bytes have come: those to the host or from it. */
static void tell_done(enum cudaMemcpyKind kind, const void *to, const void *from) {
    if (kind != cudaMemcpyDeviceToDevice && !(kind == cudaMemcpyDefault && lw_in_arena(to) && lw_in_arena(from)))
        lw_tell_order(ORDER_SYNC_STREAM, NULL, 0);
}

static cudaError_t issue(Work work, cudaStream_t stream) { return lw_return(lw_issue(&work, stream)); }

API cudaError_t cudaMemcpy(void *to, const void *from, size_t count, enum cudaMemcpyKind kind) {
    ENTER();
    lw_drain_callbacks();
    lw_flush_output();
    Work work = lw_line_work(to, from, count, kind);
    cudaError_t error = lw_do(&work, NULL);
    tell_done(kind, to, from);
    return lw_return(lw_tell_bad(error, "cudaMemcpy", to, from, count, kind, CALLER));
}
SECOND_NAME(cudaMemcpy, _ptds)

API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t count, enum cudaMemcpyKind kind,
                                cudaStream_t stream) {
    ENTER_STREAM(stream);
    Work work = lw_line_work(to, from, count, kind);
    cudaError_t error = lw_issue(&work, stream);
    if (!lw_in_arena(to) && !lw_capturing(stream)) lw_tell_order(ORDER_SYNC_STREAM, stream, 0); /* pageable memory */
    return lw_return(lw_tell_bad(error, "cudaMemcpyAsync", to, from, count, kind, CALLER));
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
                 .copy = {{.pointer = to, .pitch = to_pitch}, {.pointer = from, .pitch = from_pitch},
                          {width, height, 1}, kind}};
    return issue(work, stream);
}
SECOND_NAME(cudaMemcpy2DAsync, _ptsz)

API cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t height, enum cudaMemcpyKind kind) {
    lw_come_from(CALLER);
    cudaError_t error = cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, NULL);
    tell_done(kind, to, from);
    lw_flush_output();
    return error;
}
SECOND_NAME(cudaMemcpy2D, _ptds)

API cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
    ENTER_STREAM(stream);
    Work work;
    cudaError_t error = lw_copy_work(&work, p);
    return error == cudaSuccess ? issue(work, stream) : lw_return(error);
}
SECOND_NAME(cudaMemcpy3DAsync, _ptsz)

API cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
    lw_come_from(CALLER);
    cudaError_t error = cudaMemcpy3DAsync(p, NULL);
    if (p) tell_done(p->kind, p->dstPtr.ptr, p->srcPtr.ptr);
    lw_flush_output();
    return error;
}
SECOND_NAME(cudaMemcpy3D, _ptds)

static cudaError_t same_device(struct cudaMemcpy3DParms *made, const struct cudaMemcpy3DPeerParms *p) {
    if (!p) return cudaErrorInvalidValue;
    if (p->srcDevice || p->dstDevice) return cudaErrorInvalidDevice;
    *made = (struct cudaMemcpy3DParms){
        .srcArray = p->srcArray, .srcPos = p->srcPos, .srcPtr = p->srcPtr, .dstArray = p->dstArray, .dstPos = p->dstPos,
        .dstPtr = p->dstPtr, .extent = p->extent, .kind = cudaMemcpyDeviceToDevice};
    return cudaSuccess;
}

API cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream) {
    struct cudaMemcpy3DParms made;
    ENTER_STREAM(stream);
    cudaError_t error = same_device(&made, p);
    return error == cudaSuccess ? cudaMemcpy3DAsync(&made, stream) : lw_return(error);
}
SECOND_NAME(cudaMemcpy3DPeerAsync, _ptsz)

API cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p) { return cudaMemcpy3DPeerAsync(p, NULL); }
SECOND_NAME(cudaMemcpy3DPeer, _ptds)

/* Where the source may be read (the attributes say) is no question here: each is read when its copy is made. */
API cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count,
                                     struct cudaMemcpyAttributes *attributes, size_t *firsts, size_t kinds,
                                     cudaStream_t stream) {
    (void)attributes, (void)firsts, (void)kinds;
    ENTER_STREAM(stream);
    REQUIRE(count && to && from && sizes, cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        cudaError_t error = cudaMemcpyAsync(to[i], from[i], sizes[i], cudaMemcpyDefault, stream);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}
SECOND_NAME(cudaMemcpyBatchAsync, _ptsz)

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
    lw_come_from(CALLER);
    cudaError_t error = cudaMemcpyToSymbolAsync(symbol, from, count, offset, kind, NULL);
    tell_done(kind, symbol, from);
    return error;
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
    lw_come_from(CALLER);
    cudaError_t error = cudaMemcpyFromSymbolAsync(to, symbol, count, offset, kind, NULL);
    tell_done(kind, to, symbol);
    lw_flush_output();
    return error;
}
SECOND_NAME(cudaMemcpyFromSymbol, _ptds)
