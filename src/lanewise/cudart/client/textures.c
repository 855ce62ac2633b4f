/* Texture and surface objects. A handle is the address of a record in device memory (emulator/textures/record.py), and what the
 * program described lies behind it, for the calls that ask for it. */
#include "lanewise.h"

#include <math.h>
#include <string.h>

#include "texture_record.h"

typedef struct {
    unsigned char record[TEXTURE_SIZE];
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
} Object;

static void put32(Object *o, size_t offset, uint32_t value) { memcpy(o->record + offset, &value, sizeof value); }
static void put64(Object *o, size_t offset, uint64_t value) { memcpy(o->record + offset, &value, sizeof value); }

/* PTX ISA 5.3: the codes are those of OpenCL 1.1 (CL_SNORM_INT8 and so on, CL_R and so on). */
static uint32_t data_type(const Format *f, bool fraction) {
    int size = f->bits == 8 ? 0 : f->bits == 16 ? 1 : 2;
    if (f->kind == cudaChannelFormatKindFloat) return f->bits == 16 ? 0x10DD : 0x10DE;
    if (fraction) return (f->kind == cudaChannelFormatKindSigned ? 0x10D0u : 0x10D2u) + (uint32_t)size;
    return (f->kind == cudaChannelFormatKindSigned ? 0x10D7u : 0x10DAu) + (uint32_t)size;
}

static uint32_t order(const Format *f) { return f->channels == 1 ? 0x10B0 : f->channels == 2 ? 0x10B2 : 0x10B5; }

static uint32_t decode(const Format *f, bool fraction, bool srgb) {
    if (f->kind == cudaChannelFormatKindFloat) return f->bits == 16 ? DECODE_F16 : DECODE_WORD;
    if (f->bits == 32) return DECODE_WORD;
    bool wide = f->bits == 16;
    if (f->kind == cudaChannelFormatKindSigned)
        return fraction ? (wide ? DECODE_SNORM16 : DECODE_SNORM8) : (wide ? DECODE_S16 : DECODE_S8);
    if (fraction && srgb && !wide) return DECODE_SRGB8;
    return fraction ? (wide ? DECODE_UNORM16 : DECODE_UNORM8) : (wide ? DECODE_U16 : DECODE_U8);
}

static uint32_t geometry(const Array *a) {
    if (a->flags & cudaArrayCubemap) return a->flags & cudaArrayLayered ? GEOMETRY_ACUBE : GEOMETRY_CUBE;
    if (a->flags & cudaArrayLayered) return a->extent.height ? GEOMETRY_A2D : GEOMETRY_A1D;
    return a->extent.depth ? GEOMETRY_3D : a->extent.height ? GEOMETRY_2D : GEOMETRY_1D;
}

static void put_shape(Object *o, uint64_t base, size_t width, size_t height, size_t depth, size_t pitch, size_t slice,
                      bool tiled, uint32_t geometry) {
    put64(o, TEXTURE_BASE, base);
    put32(o, TEXTURE_WIDTH, (uint32_t)width);
    put32(o, TEXTURE_HEIGHT, (uint32_t)height);
    put32(o, TEXTURE_DEPTH, (uint32_t)depth);
    put64(o, TEXTURE_PITCH, pitch);
    put64(o, TEXTURE_SLICE, slice);
    put32(o, TEXTURE_TILED, tiled);
    put32(o, TEXTURE_GEOMETRY, geometry);
}

static void put_array(Object *o, const Array *a) {
    put_shape(o, a->base, a->extent.width, a->rows, a->slices, a->pitch, a->slice, true, geometry(a));
}

#define PLACE "(CUDA Runtime API, Texture Object Management: cudaCreateTextureObject)"

/* Memory that a texture is laid over: what is wrong with it, or NULL; its shape goes into the record. */
static const char *put_memory(Object *o, const struct cudaResourceDesc *r, Format *format) {
    const struct cudaDeviceProp *p = lw_properties();
    bool pitched = r->resType == cudaResourceTypePitch2D;
    const struct cudaChannelFormatDesc *desc = pitched ? &r->res.pitch2D.desc : &r->res.linear.desc;
    const void *pointer = pitched ? r->res.pitch2D.devPtr : r->res.linear.devPtr;
    const char *problem = lw_format_problem(desc, format);
    if (problem) return problem;
    size_t element = (size_t)format->bits / 8 * (size_t)format->channels, bytes, rows = 1, width, pitch;
    if (pitched) {
        width = r->res.pitch2D.width, rows = r->res.pitch2D.height, pitch = r->res.pitch2D.pitchInBytes;
        if (pitch % (size_t)p->texturePitchAlignment) return "the pitch is not a multiple of texturePitchAlignment (32 bytes)";
        if (width * element > pitch) return "a row is longer than the pitch";
        if (width > (size_t)p->maxTexture2DLinear[0] || rows > (size_t)p->maxTexture2DLinear[1] ||
            pitch > (size_t)p->maxTexture2DLinear[2])
            return "it is larger than maxTexture2DLinear";
        bytes = rows ? pitch * (rows - 1) + width * element : 0;
    } else {
        bytes = r->res.linear.sizeInBytes, width = bytes / element, pitch = bytes;
        if (width > (size_t)1 << 28) return "it has more than 2^28 elements";
    }
    if (!width || !rows) return "it has no elements";
    if ((uint64_t)pointer % p->textureAlignment) return "its address is not a multiple of textureAlignment (512 bytes)";
    char *here;
    if (lw_resolve(pointer, bytes, SIDE_DEVICE, &here) != cudaSuccess) return "its bytes are not within one allocation";
    put_shape(o, (uint64_t)pointer, width, rows, 1, pitch, pitch * rows, false, pitched ? GEOMETRY_2D : GEOMETRY_1D);
    return NULL;
}

/* The bits of a channel of the border, as an H200 gives them: numbers of whole formats are the low bits of what the
 * program put there, halves are cut, fractions rounded, ties down. */
static uint32_t border(const Format *f, bool fraction, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (f->bits == 32) return bits;
    uint32_t kept = f->bits == 8 ? 0xff : 0xffff;
    if (f->kind == cudaChannelFormatKindFloat) {
        uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
        if (magnitude >= 0x47800000) return sign | (magnitude > 0x7f800000 ? 0x7fff : magnitude == 0x7f800000 ? 0x7c00 : 0x7bff);
        if (magnitude < 0x38800000) return sign | (uint32_t)(fabsf(value) * 0x1p24f);
        return sign | (magnitude - 0x38000000) >> 13;
    }
    if (!fraction) return bits & kept;
    bool with_sign = f->kind == cudaChannelFormatKindSigned;
    float least = with_sign ? -1 : 0, most = with_sign ? (float)(kept >> 1) : (float)kept;
    float held = value > least ? value < 1 ? value : 1 : least;
    return (uint32_t)(int32_t)(held < 0 ? -ceilf(-held * most - 0.5f) : ceilf(held * most - 0.5f)) & kept;
}

static cudaError_t keep(Object *object, uint64_t *handle, int kind, const char *made_by, const void *caller) {
    void *memory;
    cudaError_t error = lw_allocate(&memory, sizeof *object, kind, made_by, 0, caller);
    if (error != cudaSuccess) return error;
    memcpy(lw_alias((uint64_t)memory), object, sizeof *object);
    *handle = (uint64_t)memory;
    return cudaSuccess;
}

static const Object *find(uint64_t handle, int kind) {
    Allocation a;
    if (!lw_in_arena((void *)handle) || !lw_find_allocation(handle, &a) || a.base != handle || a.kind != kind) return NULL;
    return lw_alias(handle);
}

static const char *sampling_problem(const struct cudaTextureDesc *t, const Format *f, cudaError_t *error) {
    bool fraction = t->readMode == cudaReadModeNormalizedFloat || f->normalized;
    bool whole = f->kind != cudaChannelFormatKindFloat;
    *error = cudaErrorInvalidFilterSetting;
    if (t->filterMode == cudaFilterModeLinear && whole && !fraction)
        return "linear filtering is for reads that give floating-point numbers: cudaReadModeNormalizedFloat, or a float "
               "format";
    *error = cudaErrorInvalidNormSetting;
    if (t->readMode == cudaReadModeNormalizedFloat && whole && f->bits == 32)
        return "normalized reads are for integers of 8 and 16 bits";
    *error = cudaErrorNotSupported;
    if (t->seamlessCubemap) return "filtering across the edges of cubemaps (seamlessCubemap) is not supported";
    *error = cudaErrorInvalidValue;
    if (t->sRGB && (f->bits != 8 || f->channels != 4 || f->kind != cudaChannelFormatKindUnsigned))
        return "sRGB is for four channels of 8 unsigned bits";
    return NULL;
}

API cudaError_t cudaCreateTextureObject(cudaTextureObject_t *made, const struct cudaResourceDesc *resource,
                                        const struct cudaTextureDesc *texture,
                                        const struct cudaResourceViewDesc *view) {
    ENTER();
    REQUIRE(made && resource && texture, cudaErrorInvalidValue);
    *made = 0;
    Object object = {.resource = *resource, .texture = *texture};
    Format format;
    if (view)
        return lw_return(lw_refuse(cudaErrorNotSupported, CALLER, "resource views of textures are not supported " PLACE));
    if (resource->resType == cudaResourceTypeMipmappedArray)
        return lw_return(lw_refuse(cudaErrorNotSupported, CALLER, "mipmapped arrays are not supported " PLACE));
    if (resource->resType == cudaResourceTypeArray) {
        const Array *a = lw_array(resource->res.array.array);
        REQUIRE(a, cudaErrorInvalidResourceHandle);
        format = a->parsed;
        put_array(&object, a);
    } else {
        const char *problem = put_memory(&object, resource, &format);
        if (problem)
            return lw_return(lw_refuse(cudaErrorInvalidValue, CALLER, "a texture over memory is refused: %s " PLACE, problem));
    }
    cudaError_t error;
    const char *problem = sampling_problem(texture, &format, &error);
    if (problem) return lw_return(lw_refuse(error, CALLER, "a texture is refused: %s " PLACE, problem));
    bool fraction = texture->readMode == cudaReadModeNormalizedFloat || format.normalized;
    put64(&object, TEXTURE_MAGIC, TEXTURE_MAGIC_NUMBER);
    put32(&object, TEXTURE_ELEMENT, (uint32_t)(format.bits / 8 * format.channels));
    put32(&object, TEXTURE_CHANNELS, (uint32_t)format.channels);
    put32(&object, TEXTURE_DECODE, decode(&format, fraction, texture->sRGB));
    for (int i = 0; i < 3; i++) {
        enum cudaTextureAddressMode mode = texture->addressMode[i];
        REQUIRE((unsigned)mode <= cudaAddressModeBorder, cudaErrorInvalidValue);
        if (!texture->normalizedCoords && mode != cudaAddressModeBorder) mode = cudaAddressModeClamp;
        put32(&object, TEXTURE_ADDRESS + 4 * (size_t)i, mode);
    }
    bool linear_memory = resource->resType == cudaResourceTypeLinear; /* it is read by number, never filtered */
    put32(&object, TEXTURE_LINEAR, texture->filterMode == cudaFilterModeLinear && !linear_memory);
    put32(&object, TEXTURE_NORMALIZED, texture->normalizedCoords != 0);
    for (int i = 0; i < 4; i++)
        put32(&object, TEXTURE_BORDER + 4 * (size_t)i, border(&format, fraction, texture->borderColor[i]));
    put32(&object, TEXTURE_DATA_TYPE, data_type(&format, fraction));
    put32(&object, TEXTURE_ORDER, order(&format));
    return lw_return(keep(&object, made, KIND_TEXTURE, "cudaCreateTextureObject", CALLER));
}

API cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
    ENTER();
    if (!object) return cudaSuccess;
    return lw_return(lw_free((void *)object, 1 << KIND_TEXTURE));
}

API cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *desc, cudaTextureObject_t object) {
    ENTER();
    const Object *found = find(object, KIND_TEXTURE);
    REQUIRE(desc && found, cudaErrorInvalidValue);
    *desc = found->resource;
    return cudaSuccess;
}

API cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *desc, cudaTextureObject_t object) {
    ENTER();
    const Object *found = find(object, KIND_TEXTURE);
    REQUIRE(desc && found, cudaErrorInvalidValue);
    *desc = found->texture;
    return cudaSuccess;
}

API cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *desc, cudaTextureObject_t object) {
    ENTER();
    REQUIRE(desc && find(object, KIND_TEXTURE), cudaErrorInvalidValue);
    return lw_return(cudaErrorInvalidValue); /* none was given */
}

API cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const struct cudaChannelFormatDesc *desc, int device) {
    Format format;
    ENTER();
    REQUIRE(device == 0, cudaErrorInvalidDevice);
    REQUIRE(width && desc && !lw_format_problem(desc, &format), cudaErrorInvalidValue);
    *width = (size_t)1 << 28;
    return cudaSuccess;
}

API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *made, const struct cudaResourceDesc *resource) {
    ENTER();
    REQUIRE(made && resource, cudaErrorInvalidValue);
    *made = 0;
    const char *place = "(CUDA Runtime API, Surface Object Management: cudaCreateSurfaceObject)";
    if (resource->resType != cudaResourceTypeArray)
        return lw_return(lw_refuse(cudaErrorInvalidValue, CALLER, "a surface is made of an array, and of nothing else %s", place));
    const Array *a = lw_array(resource->res.array.array);
    REQUIRE(a, cudaErrorInvalidResourceHandle);
    Object object = {.resource = *resource};
    put_array(&object, a);
    put64(&object, TEXTURE_MAGIC, SURFACE_MAGIC_NUMBER);
    put32(&object, TEXTURE_ELEMENT, (uint32_t)a->element);
    put32(&object, TEXTURE_CHANNELS, (uint32_t)a->parsed.channels);
    put32(&object, TEXTURE_DECODE, decode(&a->parsed, a->parsed.normalized, false));
    put32(&object, TEXTURE_DATA_TYPE, data_type(&a->parsed, a->parsed.normalized));
    put32(&object, TEXTURE_ORDER, order(&a->parsed));
    return lw_return(keep(&object, made, KIND_SURFACE, "cudaCreateSurfaceObject", CALLER));
}

API cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
    ENTER();
    if (!object) return cudaSuccess;
    return lw_return(lw_free((void *)object, 1 << KIND_SURFACE));
}

API cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *desc, cudaSurfaceObject_t object) {
    ENTER();
    const Object *found = find(object, KIND_SURFACE);
    REQUIRE(desc && found, cudaErrorInvalidValue);
    *desc = found->resource;
    return cudaSuccess;
}
