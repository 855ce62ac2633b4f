// C = A B of bf16 matrices with f32 sums on tensor cores. A lies by rows, B by columns: both run along k.
#include <cuda_bf16.h>
#include <mma.h>

#include "common.cuh"

using namespace nvcuda;

constexpr int TILE = 64, DEPTH = 32;       // of C, and of A and B along k
constexpr int THREADS = 128, WARP_TILE = 32;  // each of four warps makes 32 x 32
constexpr int PIECE = 8;                   // elements in 16 bytes
constexpr int PIECES = DEPTH / PIECE;

// Fragments by wmma: the layout in registers is the library's business.
__global__ void gemm_wmma(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int n) {
    __shared__ __align__(32) __nv_bfloat16 tile_a[TILE][DEPTH], tile_b[TILE][DEPTH];
    int warp = threadIdx.x / 32, row = warp / 2 * WARP_TILE, col = warp % 2 * WARP_TILE;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
    for (auto& line : sum)
        for (auto& part : line) wmma::fill_fragment(part, 0);
    for (int k0 = 0; k0 < n; k0 += DEPTH) {
        for (int i = threadIdx.x; i < TILE * PIECES; i += THREADS) {
            int line = i / PIECES, k = i % PIECES * PIECE;
            *(uint4*)&tile_a[line][k] = *(const uint4*)&A[(row0 + line) * n + k0 + k];
            *(uint4*)&tile_b[line][k] = *(const uint4*)&B[(col0 + line) * n + k0 + k];
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k += 16)
            for (int i = 0; i < 2; i++) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
                wmma::load_matrix_sync(a, &tile_a[row + 16 * i][k], DEPTH);
                for (int j = 0; j < 2; j++) {
                    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
                    wmma::load_matrix_sync(b, &tile_b[col + 16 * j][k], DEPTH);
                    wmma::mma_sync(sum[i][j], a, b, sum[i][j]);
                }
            }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::store_matrix_sync(&C[(row0 + row + 16 * i) * n + col0 + col + 16 * j], sum[i][j], n,
                                    wmma::mem_row_major);
}

// Where a tile keeps 16 bytes of a row. Rows of 64 bytes put every second row into the same banks; moving the pieces of
// a row about by its number spreads the eight rows that ldmatrix reads at once over all banks.
template <bool SWIZZLED>
__device__ int place(int line, int piece) {
    return line * DEPTH * 2 + (SWIZZLED ? piece ^ (line / 2 % 4) : piece) * 16;
}

__device__ void load_matrices(unsigned (&to)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address));
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <bool SWIZZLED>
__device__ void gemm(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int n) {
    __shared__ __align__(128) char tile_a[TILE * DEPTH * 2], tile_b[TILE * DEPTH * 2];
    unsigned at_a = __cvta_generic_to_shared(tile_a), at_b = __cvta_generic_to_shared(tile_b);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = warp / 2 * WARP_TILE, col = warp % 2 * WARP_TILE;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float sum[2][4][4] = {};
    for (int k0 = 0; k0 < n; k0 += DEPTH) {
        for (int i = threadIdx.x; i < TILE * PIECES; i += THREADS) {
            int line = i / PIECES, piece = i % PIECES, k = k0 + piece * PIECE;
            *(uint4*)(tile_a + place<SWIZZLED>(line, piece)) = *(const uint4*)&A[(row0 + line) * n + k];
            *(uint4*)(tile_b + place<SWIZZLED>(line, piece)) = *(const uint4*)&B[(col0 + line) * n + k];
        }
        __syncthreads();
        for (int piece = 0; piece < PIECES; piece += 2) {
            unsigned a[2][4], b[2][4];  // four matrices of 8 x 8 each
            for (int i = 0; i < 2; i++) {
                load_matrices(a[i], at_a + place<SWIZZLED>(row + 16 * i + lane % 16, piece + lane / 16));
                load_matrices(b[i], at_b + place<SWIZZLED>(col + 16 * i + lane / 16 * 8 + lane % 8, piece + lane / 8 % 2));
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) multiply(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int half = 0; half < 2; half++) {
                int y = row0 + row + 16 * i + 8 * half + lane / 4, x = col0 + col + 8 * j + lane % 4 * 2;
                *(float2*)&C[y * n + x] = make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
            }
}

// ldmatrix and mma: the same by hand. Pairs of rows meet in the banks.
__global__ void gemm_mma(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int n) { gemm<false>(A, B, C, n); }

__global__ void gemm_mma_swizzled(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int n) {
    gemm<true>(A, B, C, n);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
// The descriptor of a tile of rows of 128 bytes, swizzled in groups of eight rows (PTX ISA 9.7.15.5.1).
__device__ unsigned long long descriptor(unsigned address) {
    unsigned long long stride = 8 * 128;
    return (address & 0x3ffff) >> 4 | stride >> 4 << 32 | 1ull << 62;
}

// wgmma: 128 threads make 64 x 64 at once, straight from shared memory. Only in code for sm_90a.
__global__ void gemm_wgmma(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int n) {
    constexpr int WIDE = 64;  // elements of a row: 128 bytes
    __shared__ __align__(1024) char tile_a[TILE * WIDE * 2], tile_b[TILE * WIDE * 2];
    unsigned at_a = __cvta_generic_to_shared(tile_a), at_b = __cvta_generic_to_shared(tile_b);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float d[32] = {};
    for (int k0 = 0; k0 < n; k0 += WIDE) {
        for (int i = threadIdx.x; i < TILE * WIDE / PIECE; i += THREADS) {
            int line = i / 8, piece = i % 8, k = k0 + piece * PIECE, to = line * 128 + (piece ^ line % 8) * 16;
            *(uint4*)(tile_a + to) = *(const uint4*)&A[(row0 + line) * n + k];
            *(uint4*)(tile_b + to) = *(const uint4*)&B[(col0 + line) * n + k];
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < WIDE / 16; step++)
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
                "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                "%32, %33, 1, 1, 1, 0, 0;"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                  "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                  "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                  "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                : "l"(descriptor(at_a + 32 * step)), "l"(descriptor(at_b + 32 * step)));
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    for (int i = 0; i < 16; i++) {
        int y = row0 + 16 * warp + 8 * (i % 2) + lane / 4, x = col0 + i / 2 * 8 + lane % 4 * 2;
        *(float2*)&C[y * n + x] = make_float2(d[2 * i], d[2 * i + 1]);
    }
}
#else
__global__ void gemm_wgmma(const __nv_bfloat16*, const __nv_bfloat16*, float*, int) { __trap(); }
#endif

int main(int argc, char** argv) {
    Example example(argc, argv);
    int n = (example.size(0, 256) + TILE - 1) / TILE * TILE;
    std::vector<float> a = random_floats(size_t(n) * n, 1), b = random_floats(size_t(n) * n, 2);
    std::vector<__nv_bfloat16> short_a(a.size()), short_b(b.size());
    for (size_t i = 0; i < a.size(); i++) {
        short_a[i] = __float2bfloat16(a[i]), short_b[i] = __float2bfloat16(b[i]);
        a[i] = __bfloat162float(short_a[i]), b[i] = __bfloat162float(short_b[i]);
    }
    std::vector<float> expected(size_t(n) * n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += double(a[i * n + k]) * b[j * n + k];
            expected[i * n + j] = float(sum);
        }

    DeviceArray<__nv_bfloat16> A(short_a), B(short_b);
    DeviceArray<float> C(size_t(n) * n);
    example.dump("a", a);
    example.dump("b", b);
    auto run = [&](const char* name, auto kernel) {
        C.clear();
        kernel<<<dim3(n / TILE, n / TILE), THREADS>>>(A.data, B.data, C.data, n);
        finish();
        example.check(name, C.download(), expected, 1e-4);
    };
    run("gemm_wmma", gemm_wmma);
    run("gemm_mma", gemm_mma);
    run("gemm_mma_swizzled", gemm_mma_swizzled);
    cudaFuncAttributes attributes;
    bool for_90a = cudaFuncGetAttributes(&attributes, gemm_wgmma) == cudaSuccess && attributes.sharedSizeBytes > 0;
    if (for_90a) run("gemm_wgmma", gemm_wgmma);
    return example.exit_code();
}
