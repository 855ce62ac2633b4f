/* CUDA arrays: memory that programs reach by coordinates only. They lie in tiles, see emulator/textures/record.py. */
#include "lanewise.h"

#include <stdlib.h>
#include <string.h>

#include "texture_record.h"

enum { FLAGS = cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather };

Array *lw_array(cudaArray_const_t array) {
    Handle *handle = lw_handle(array, HANDLE_ARRAY);
    return handle ? handle->data : NULL;
}

/* How many bytes from `x` (in bytes) on are neighbours in memory. */
static size_t run_at(size_t x) { return 16 - x % 16; }

static uint64_t place(const Array *a, size_t x, size_t y, size_t z) {
    uint64_t slice = a->base + z * a->slice;
    return slice + y / TILE_ROWS * (a->pitch * TILE_ROWS) + x / TILE_BYTES * (TILE_BYTES * TILE_ROWS) +
           x % TILE_BYTES / 32 * 256 + y % TILE_ROWS / 2 * 64 + x % 32 / 16 * 32 + y % 2 * 16 + x % 16;
}

char *lw_array_run(const Array *a, size_t x, size_t y, size_t z, size_t *run) {
    *run = run_at(x);
    return lw_alias(place(a, x, y, z));
}

static bool plain(enum cudaChannelFormatKind kind) {
    return kind <= cudaChannelFormatKindFloat ||
           (kind >= cudaChannelFormatKindUnsignedNormalized8X1 && kind <= cudaChannelFormatKindSignedNormalized16X4);
}

const char *lw_format_problem(const struct cudaChannelFormatDesc *f, Format *format) {
    int bits[4] = {f->x, f->y, f->z, f->w};
    memset(format, 0, sizeof *format);
    while (format->channels < 4 && bits[format->channels]) format->channels++;
    for (int i = format->channels; i < 4; i++)
        if (bits[i]) return "its channels do not come first";
    if (format->channels == 0) return "it has no channels";
    if (!plain(f->f)) return "compressed, planar and packed formats are not supported by this version";
    if (format->channels == 3) return "it has three channels, and there are arrays of one, two and four";
    for (int i = 1; i < format->channels; i++)
        if (bits[i] != bits[0]) return "its channels differ in size";
    format->bits = bits[0];
    if (format->bits != 8 && format->bits != 16 && format->bits != 32) return "channels have 8, 16 or 32 bits";
    format->kind = f->f;
    if (f->f >= cudaChannelFormatKindUnsignedNormalized8X1 && f->f <= cudaChannelFormatKindUnsignedNormalized16X4) {
        format->kind = cudaChannelFormatKindUnsigned;
        format->normalized = true;
    } else if (f->f >= cudaChannelFormatKindSignedNormalized8X1 && f->f <= cudaChannelFormatKindSignedNormalized16X4) {
        format->kind = cudaChannelFormatKindSigned;
        format->normalized = true;
    }
    if (format->kind == cudaChannelFormatKindFloat && format->bits == 8) return "floating-point channels have 16 or 32 bits";
    return NULL;
}

static bool within(size_t width, size_t height, size_t depth, size_t most_width, size_t most_height,
                   size_t most_depth) {
    return width <= most_width && height <= most_height && depth <= most_depth;
}

/* What is wrong with the extent and flags of an array, by the CUDA Runtime API's section on cudaMalloc3DArray. */
static const char *extent_problem(struct cudaExtent e, unsigned flags) {
    const struct cudaDeviceProp *p = lw_properties();
    if (flags & ~(unsigned)FLAGS) return "sparse, deferred and colour-attachment arrays are not supported by this version";
    if (!e.width) return "its width is zero";
    if (flags & cudaArrayCubemap) {
        if (e.width != e.height) return "faces of a cubemap are square";
        if (flags & cudaArrayLayered ? !e.depth || e.depth % 6 : e.depth != 6)
            return "a cubemap has six faces, a layered one six for each layer";
        size_t most = flags & cudaArrayLayered ? (size_t)p->maxTextureCubemapLayered[0] : (size_t)p->maxTextureCubemap;
        return within(e.width, e.height, e.depth, most, most, (size_t)p->maxTextureCubemapLayered[1]) ? NULL
               : "it is larger than the device's limit for cubemaps";
    }
    if (flags & cudaArrayLayered) {
        if (!e.depth) return "an array of layers needs a depth";
        const int *most = p->maxTexture2DLayered;
        return within(e.width, e.height, e.depth, (size_t)most[0], (size_t)most[1], (size_t)most[2]) ? NULL
               : "it is larger than the device's limit for layered textures";
    }
    if (e.depth && !e.height) return "an array of three dimensions needs a height";
    if (flags & cudaArrayTextureGather && e.depth) return "gathering is for arrays of two dimensions";
    if (e.depth) {
        const int *most = p->maxTexture3D;
        return within(e.width, e.height, e.depth, (size_t)most[0], (size_t)most[1], (size_t)most[2]) ? NULL
               : "it is larger than the device's limit for 3D textures";
    }
    if (e.height)
        return within(e.width, e.height, 0, (size_t)p->maxTexture2D[0], (size_t)p->maxTexture2D[1], 0) ? NULL
               : "it is larger than the device's limit for 2D textures";
    return e.width <= (size_t)p->maxTexture1D ? NULL : "it is larger than the device's limit for 1D textures";
}

static cudaError_t make(cudaArray_t *made, const struct cudaChannelFormatDesc *format, struct cudaExtent extent,
                        unsigned flags, const char *made_by, const void *caller) {
    if (!made || !format) return cudaErrorInvalidValue;
    *made = NULL;
    Format parsed;
    const char *problem = lw_format_problem(format, &parsed);
    if (problem)
        return lw_refuse(cudaErrorInvalidChannelDescriptor, caller, "%s: the format {%d, %d, %d, %d} is refused: %s "
                         "(CUDA Runtime API, Memory Management: cudaMalloc3DArray)",
                         made_by, format->x, format->y, format->z, format->w, problem);
    problem = extent_problem(extent, flags);
    if (problem)
        return lw_refuse(cudaErrorInvalidValue, caller, "%s: an array of %zu x %zu x %zu with flags %#x is refused: %s "
                         "(CUDA Runtime API, Memory Management: cudaMalloc3DArray)", made_by, extent.width, extent.height,
                         extent.depth, flags, problem);
    Array *a = calloc(1, sizeof *a);
    Handle *handle = a ? lw_new_handle(HANDLE_ARRAY) : NULL;
    if (!handle) {
        free(a);
        return cudaErrorMemoryAllocation;
    }
    *a = (Array){.format = *format, .extent = extent, .flags = flags, .parsed = parsed,
                 .element = (size_t)parsed.bits / 8 * (size_t)parsed.channels, .rows = extent.height ? extent.height : 1,
                 .slices = extent.depth ? extent.depth : 1};
    a->row = a->element * extent.width;
    a->pitch = (a->row + TILE_BYTES - 1) / TILE_BYTES * TILE_BYTES;
    size_t tiles = (a->rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS, bytes;
    void *memory = NULL;
    cudaError_t error = cudaErrorMemoryAllocation;
    if (!__builtin_mul_overflow(a->pitch, tiles, &a->slice) && !__builtin_mul_overflow(a->slice, a->slices, &bytes))
        error = lw_allocate(&memory, bytes, KIND_ARRAY, made_by, 0, caller);
    if (error != cudaSuccess) {
        lw_delete_handle(handle);
        free(a);
        return error;
    }
    a->base = (uint64_t)memory;
    handle->data = a;
    *made = a->handle = (cudaArray_t)handle;
    return cudaSuccess;
}

API cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, size_t width,
                                size_t height, unsigned flags) {
    ENTER();
    return lw_return(make(array, format, (struct cudaExtent){width, height, 0}, flags, "cudaMallocArray", CALLER));
}

API cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
                                  struct cudaExtent extent, unsigned flags) {
    ENTER();
    return lw_return(make(array, format, extent, flags, "cudaMalloc3DArray", CALLER));
}

API cudaError_t cudaFreeArray(cudaArray_t array) {
    ENTER();
    if (!array) return cudaSuccess;
    Array *a = lw_array(array);
    REQUIRE(a, cudaErrorContextIsDestroyed);
    cudaError_t error = lw_free((void *)a->base, 1 << KIND_ARRAY);
    lw_delete_handle((Handle *)array);
    free(a);
    return lw_return(error);
}

API cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent, unsigned *flags,
                                 cudaArray_t array) {
    ENTER();
    Array *a = lw_array(array);
    REQUIRE(a, cudaErrorInvalidResourceHandle);
    if (format) *format = a->format;
    if (extent) *extent = a->extent;
    if (flags) *flags = a->flags;
    return cudaSuccess;
}

API cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t array) {
    REQUIRE(format, cudaErrorInvalidValue);
    return cudaArrayGetInfo(format, NULL, NULL, (cudaArray_t)array);
}

/* --- copies. `x` in bytes; what lies outside is refused. */
static bool fits(const Array *a, size_t x, size_t y, size_t width, size_t height) {
    return x <= a->row && width <= a->row - x && y <= a->rows && height <= a->rows - y;
}

static Block corner(const Array *a, size_t x, size_t y, size_t z) {
    return (Block){.array = a, .x = x, .y = y, .z = z};
}

static cudaError_t issue(Block to, Block from, struct cudaExtent extent, enum cudaMemcpyKind kind,
                         cudaStream_t stream) {
    Work work = {.type = cudaGraphNodeTypeMemcpy, .copy = {to, from, extent, kind}};
    return lw_return(lw_issue(&work, stream));
}

API cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                         size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    ENTER_STREAM(stream);
    Array *a = lw_array(to);
    REQUIRE(a, cudaErrorInvalidResourceHandle);
    REQUIRE(width <= pitch || height == 1, cudaErrorInvalidPitchValue); /* one row needs no pitch */
    REQUIRE(fits(a, x, y, width, height), cudaErrorInvalidValue);
    return issue(corner(a, x, y, 0), (Block){.pointer = from, .pitch = pitch}, (struct cudaExtent){width, height, 1},
                 kind, stream);
}
SECOND_NAME(cudaMemcpy2DToArrayAsync, _ptsz)

API cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                    size_t height, enum cudaMemcpyKind kind) {
    return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, NULL);
}
SECOND_NAME(cudaMemcpy2DToArray, _ptds)

API cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                           size_t width, size_t height, enum cudaMemcpyKind kind,
                                           cudaStream_t stream) {
    ENTER_STREAM(stream);
    Array *a = lw_array(from);
    REQUIRE(a, cudaErrorInvalidResourceHandle);
    REQUIRE(width <= pitch || height == 1, cudaErrorInvalidPitchValue); /* one row needs no pitch */
    REQUIRE(fits(a, x, y, width, height), cudaErrorInvalidValue);
    return issue((Block){.pointer = to, .pitch = pitch}, corner(a, x, y, 0), (struct cudaExtent){width, height, 1},
                 kind, stream);
}
SECOND_NAME(cudaMemcpy2DFromArrayAsync, _ptsz)

API cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                      size_t height, enum cudaMemcpyKind kind) {
    cudaError_t error = cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, NULL);
    lw_flush_output();
    return error;
}
SECOND_NAME(cudaMemcpy2DFromArray, _ptds)

API cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                         size_t from_x, size_t from_y, size_t width, size_t height,
                                         enum cudaMemcpyKind kind) {
    ENTER_STREAM(NULL);
    Array *a = lw_array(to), *b = lw_array(from);
    REQUIRE(a && b, cudaErrorInvalidResourceHandle);
    REQUIRE(fits(a, to_x, to_y, width, height) && fits(b, from_x, from_y, width, height), cudaErrorInvalidValue);
    return issue(corner(a, to_x, to_y, 0), corner(b, from_x, from_y, 0), (struct cudaExtent){width, height, 1}, kind,
                 NULL);
}
SECOND_NAME(cudaMemcpy2DArrayToArray, _ptds)

/* The deprecated copies of `count` bytes go on with the next row: a first part of a row, whole rows, a last part. */
typedef struct {
    const Array *array;
    size_t x, y; /* in bytes, rows */
} Cursor;

static void step(Cursor *c, size_t bytes) {
    size_t at = c->x + bytes;
    c->y += at / c->array->row;
    c->x = at % c->array->row;
}

static cudaError_t copy_line(Cursor at, char *other, size_t count, bool to_array, enum cudaMemcpyKind kind,
                             cudaStream_t stream) {
    size_t row = at.array->row;
    REQUIRE(at.x < row && at.y < at.array->rows && count <= (at.array->rows - at.y) * row - at.x, cudaErrorInvalidValue);
    while (count) {
        size_t width = at.x || count < row ? (count < row - at.x ? count : row - at.x) : row;
        size_t height = at.x || count < row ? 1 : count / row;
        Block inside = corner(at.array, at.x, at.y, 0), outside = {.pointer = other, .pitch = width};
        cudaError_t error = issue(to_array ? inside : outside, to_array ? outside : inside,
                                  (struct cudaExtent){width, height, 1}, kind, stream);
        if (error != cudaSuccess) return error;
        other += width * height;
        count -= width * height;
        step(&at, width * height);
    }
    return cudaSuccess;
}

API cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
                                       enum cudaMemcpyKind kind, cudaStream_t stream) {
    ENTER_STREAM(stream);
    Array *a = lw_array(to);
    REQUIRE(a, cudaErrorInvalidResourceHandle);
    return copy_line((Cursor){a, x, y}, (char *)from, count, true, kind, stream);
}
SECOND_NAME(cudaMemcpyToArrayAsync, _ptsz)

API cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
                                  enum cudaMemcpyKind kind) {
    return cudaMemcpyToArrayAsync(to, x, y, from, count, kind, NULL);
}
SECOND_NAME(cudaMemcpyToArray, _ptds)

API cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                         enum cudaMemcpyKind kind, cudaStream_t stream) {
    ENTER_STREAM(stream);
    Array *a = lw_array(from);
    REQUIRE(a, cudaErrorInvalidResourceHandle);
    return copy_line((Cursor){a, x, y}, to, count, false, kind, stream);
}
SECOND_NAME(cudaMemcpyFromArrayAsync, _ptsz)

API cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                    enum cudaMemcpyKind kind) {
    cudaError_t error = cudaMemcpyFromArrayAsync(to, from, x, y, count, kind, NULL);
    lw_flush_output();
    return error;
}
SECOND_NAME(cudaMemcpyFromArray, _ptds)

API cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                       size_t from_y, size_t count, enum cudaMemcpyKind kind) {
    ENTER_STREAM(NULL);
    Array *a = lw_array(to), *b = lw_array(from);
    REQUIRE(a && b, cudaErrorInvalidResourceHandle);
    Cursor there = {a, to_x, to_y}, here = {b, from_x, from_y};
    REQUIRE(to_x < a->row && to_y < a->rows && count <= (a->rows - to_y) * a->row - to_x, cudaErrorInvalidValue);
    REQUIRE(from_x < b->row && from_y < b->rows && count <= (b->rows - from_y) * b->row - from_x, cudaErrorInvalidValue);
    while (count) {
        size_t width = a->row - there.x < b->row - here.x ? a->row - there.x : b->row - here.x;
        if (width > count) width = count;
        cudaError_t error = issue(corner(a, there.x, there.y, 0), corner(b, here.x, here.y, 0),
                                  (struct cudaExtent){width, 1, 1}, kind, NULL);
        if (error != cudaSuccess) return error;
        step(&there, width);
        step(&here, width);
        count -= width;
    }
    return cudaSuccess;
}
SECOND_NAME(cudaMemcpyArrayToArray, _ptds)
