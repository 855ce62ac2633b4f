/* Tensor maps: functions of the driver that programs find through cudaGetDriverEntryPoint, or are linked with. The
 * emulator's process checks the rules and makes the 128 bytes. */
#include "lanewise.h"

#include <cuda.h>
#include <string.h>

enum { MAX_RANK = 5, TILED = 0, IM2COL = 1 };

static void put_list(Message *request, const void *values, size_t size, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t wide = 0;
        memcpy(&wide, (const char *)values + i * size, size);
        lw_put_u64(request, wide);
    }
}

/* {mode, type, rank, address, interleave, swizzle, promotion, fill, dimensions, strides, steps, then the box, or lower
 * corner, upper corner, channels and pixels} -> the bytes of the map */
static CUresult encode(CUtensorMap *map, Message *request) {
    Message reply = {0};
    Reader reader;
    cudaError_t error = lw_call_reader(OP_ENCODE_TENSOR_MAP, request, &reply, &reader);
    if (error == cudaSuccess) {
        size_t size;
        const void *bytes = lw_get_bytes(&reader, &size);
        if (size == sizeof *map) memcpy(map, bytes, size);
        else error = cudaErrorUnknown;
    }
    lw_release(&reply);
    return (CUresult)error;
}

/* A rank out of range goes to the emulator with no lists, which says what is wrong with it. */
static size_t start(Message *request, int mode, CUtensorMapDataType type, cuuint32_t rank, void *address,
                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                    CUtensorMapFloatOOBfill fill) {
    size_t count = rank <= MAX_RANK ? rank : 0;
    lw_put_u64(request, mode);
    lw_put_u64(request, type);
    lw_put_u64(request, rank);
    lw_put_u64(request, (uint64_t)address);
    lw_put_u64(request, interleave);
    lw_put_u64(request, swizzle);
    lw_put_u64(request, promotion);
    lw_put_u64(request, fill);
    return count;
}

API CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                    const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                    const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    Message request = {0};
    if (lw_enter() != cudaSuccess) return CUDA_ERROR_NOT_INITIALIZED;
    if (!map || (uintptr_t)map % 64 || !dims || (!strides && rank > 1) || !box || !steps) return CUDA_ERROR_INVALID_VALUE;
    size_t count = start(&request, TILED, type, rank, address, interleave, swizzle, promotion, fill);
    put_list(&request, dims, sizeof *dims, count);
    put_list(&request, strides, sizeof *strides, count ? count - 1 : 0);
    put_list(&request, steps, sizeof *steps, count);
    put_list(&request, box, sizeof *box, count);
    return encode(map, &request);
}

API CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                     const cuuint64_t *dims, const cuuint64_t *strides, const int *lower,
                                     const int *upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    Message request = {0};
    if (lw_enter() != cudaSuccess) return CUDA_ERROR_NOT_INITIALIZED;
    if (!map || (uintptr_t)map % 64 || !dims || !strides || !lower || !upper || !steps) return CUDA_ERROR_INVALID_VALUE;
    size_t count = start(&request, IM2COL, type, rank, address, interleave, swizzle, promotion, fill);
    size_t corners = count > 2 ? count - 2 : 0;
    put_list(&request, dims, sizeof *dims, count);
    put_list(&request, strides, sizeof *strides, count ? count - 1 : 0);
    put_list(&request, steps, sizeof *steps, count);
    put_list(&request, lower, sizeof *lower, corners);
    put_list(&request, upper, sizeof *upper, corners);
    lw_put_u64(&request, channels);
    lw_put_u64(&request, pixels);
    return encode(map, &request);
}

/* {map, address} -> the bytes of the map */
API CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
    Message request = {0};
    if (lw_enter() != cudaSuccess) return CUDA_ERROR_NOT_INITIALIZED;
    if (!map) return CUDA_ERROR_INVALID_VALUE;
    Message reply = {0};
    Reader reader;
    lw_put_bytes(&request, map, sizeof *map);
    lw_put_u64(&request, (uint64_t)address);
    cudaError_t error = lw_call_reader(OP_MOVE_TENSOR_MAP, &request, &reply, &reader);
    if (error == cudaSuccess) {
        size_t size;
        const void *bytes = lw_get_bytes(&reader, &size);
        if (size == sizeof *map) memcpy(map, bytes, size);
    }
    lw_release(&reply);
    return (CUresult)error;
}

static const struct {
    const char *name;
    void *function;
} entries[] = {
    {"cuTensorMapEncodeTiled", cuTensorMapEncodeTiled},
    {"cuTensorMapEncodeIm2col", cuTensorMapEncodeIm2col},
    {"cuTensorMapReplaceAddress", cuTensorMapReplaceAddress},
};

/* There is no driver: of its functions only those above are there. */
API cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                        enum cudaDriverEntryPointQueryResult *status) {
    (void)flags;
    ENTER();
    REQUIRE(symbol && function, cudaErrorInvalidValue);
    *function = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (!strcmp(symbol, entries[i].name)) *function = entries[i].function;
    if (status) *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
SECOND_NAME(cudaGetDriverEntryPoint, _ptsz)

API cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                                 unsigned long long flags,
                                                 enum cudaDriverEntryPointQueryResult *status) {
    (void)version;
    return cudaGetDriverEntryPoint(symbol, function, flags, status);
}
SECOND_NAME(cudaGetDriverEntryPointByVersion, _ptsz)
