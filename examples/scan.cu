// Prefix sums: out[i] = in[0] + ... + in[i]. Three ways within a block, and one pass over the whole array.
// usage: scan [n]
#include "common.cuh"

constexpr int THREADS = 256;

// Hillis and Steele: log2(n) steps in which almost every thread adds; two buffers, so that nobody overwrites
// what another still reads. Each block scans its own 256 elements.
__global__ void scan_hillis_steele(const int* in, int* out, int n) {
    __shared__ int part[2][THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t, from = 0;
    part[0][t] = i < n ? in[i] : 0;
    for (int s = 1; s < THREADS; s *= 2) {
        __syncthreads();
        part[1 - from][t] = part[from][t] + (t >= s ? part[from][t - s] : 0);
        from = 1 - from;
    }
    if (i < n) out[i] = part[from][t];
}

// Blelloch: up a tree of sums and down again, 2 n additions instead of n log2(n), with growing strides.
__global__ void scan_blelloch(const int* in, int* out, int n) {
    __shared__ int part[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    int own = i < n ? in[i] : 0;
    part[t] = own;
    for (int s = 1; s < THREADS; s *= 2) {  // up: part[right] becomes the sum of its subtree
        __syncthreads();
        int right = 2 * s * (t + 1) - 1;
        if (right < THREADS) part[right] += part[right - s];
    }
    __syncthreads();
    if (t == 0) part[THREADS - 1] = 0;
    for (int s = THREADS / 2; s > 0; s /= 2) {  // down: each node becomes the sum of all to its left
        __syncthreads();
        int right = 2 * s * (t + 1) - 1;
        if (right < THREADS) {
            int left = part[right - s];
            part[right - s] = part[right];
            part[right] += left;
        }
    }
    __syncthreads();
    if (i < n) out[i] = part[t] + own;
}

// In registers: each warp by shuffles, then the first warp scans the sums of the warps.
__device__ int warp_scan(int x) {
    int lane = threadIdx.x % 32;
    for (int s = 1; s < 32; s *= 2) {
        int left = __shfl_up_sync(0xffffffff, x, s);
        if (lane >= s) x += left;
    }
    return x;
}

__device__ int block_scan(int x) {
    constexpr int WARPS = THREADS / 32;
    __shared__ int sums[WARPS];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    x = warp_scan(x);
    if (lane == 31) sums[warp] = x;
    __syncthreads();
    if (warp == 0) {
        int sum = warp_scan(lane < WARPS ? sums[lane] : 0);
        if (lane < WARPS) sums[lane] = sum;
    }
    __syncthreads();
    return x + (warp > 0 ? sums[warp - 1] : 0);
}

__global__ void scan_shuffle(const int* in, int* out, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    int x = block_scan(i < n ? in[i] : 0);
    if (i < n) out[i] = x;
}

// Decoupled look-back: each block publishes its sum, then looks at the blocks before it until it meets one that
// already knows its whole prefix. State and value share 64 bits, so that they are always seen together.
enum State : unsigned long long { NOTHING = 0, SUM = 1ull << 32, PREFIX = 2ull << 32 };

__global__ void scan_look_back(const int* in, int* out, int n, unsigned long long* states, int* next_tile) {
    __shared__ int tile, before;
    // Tiles are handed out in the order in which blocks start: those we wait for are running or done.
    if (threadIdx.x == 0) tile = atomicAdd(next_tile, 1);
    __syncthreads();
    int i = tile * THREADS + threadIdx.x;
    int x = block_scan(i < n ? in[i] : 0);
    if (threadIdx.x == THREADS - 1) {  // x is the sum of the tile here
        atomicExch(&states[tile], SUM | static_cast<unsigned>(x));
        int prefix = 0;
        for (int earlier = tile - 1; earlier >= 0;) {
            unsigned long long state = *static_cast<volatile unsigned long long*>(&states[earlier]);
            if (state == NOTHING) continue;  // not there yet: look again
            prefix += static_cast<int>(static_cast<unsigned>(state));
            if (state >= PREFIX) break;
            earlier--;
        }
        atomicExch(&states[tile], PREFIX | static_cast<unsigned>(prefix + x));
        before = prefix;
    }
    __syncthreads();
    if (i < n) out[i] = before + x;
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int n = example.size(0, 1 << 16), blocks = ceil_div(n, THREADS);
    std::vector<int> in = random_ints(n, 100, 1), whole(n), by_block(n);
    for (int i = 0; i < n; i++) {
        whole[i] = in[i] + (i > 0 ? whole[i - 1] : 0);
        by_block[i] = in[i] + (i % THREADS > 0 ? by_block[i - 1] : 0);
    }
    DeviceArray<int> device_in(in), device_out(n), next_tile(1);
    DeviceArray<unsigned long long> states(blocks);
    example.dump("in", in);
    auto run = [&](const char* name, auto kernel, const std::vector<int>& expected, auto... more) {
        device_out.clear();
        kernel<<<blocks, THREADS>>>(device_in.data, device_out.data, n, more...);
        finish();
        example.check(name, device_out.download(), expected);
    };
    run("scan_hillis_steele", scan_hillis_steele, by_block);
    run("scan_blelloch", scan_blelloch, by_block);
    run("scan_shuffle", scan_shuffle, by_block);
    run("scan_look_back", scan_look_back, whole, states.data, next_tile.data);
    return example.exit_code();
}
