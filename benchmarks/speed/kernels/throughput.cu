// One kernel per kind of code whose pace is measured. `values` are random; all sizes are powers of two.

// Irregular loads: each thread follows a chain of random indices.
extern "C" __global__ void chase(const int* values, int* out, int size, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = i & (size - 1), sum = 0;
    for (int step = 0; step < steps; step++) {
        at = values[at] & (size - 1);
        sum += at;
    }
    out[i] = sum;
}

// Irregular loads with arithmetic: a random row of the table for each thread, then neighbours of it.
extern "C" __global__ void gather(const int* values, int* out, int size, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int step = 0; step < steps; step++) {
        int at = (i * 2654435761u + step * 40503u) >> 7;
        sum += values[at & (size - 1)] ^ step;
    }
    out[i] = sum;
}

// Divergent loops: the number of rounds differs from lane to lane, and so does the branch in each round.
extern "C" __global__ void collatz(const int* values, int* out, int size, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int step = 0; step < steps; step++) {
        unsigned long long n = (values[(i + step) & (size - 1)] & 1023) + 1;
        while (n != 1) {
            if (n & 1) n = 3 * n + 1;
            else n >>= 1;
            sum++;
        }
    }
    out[i] = sum;
}

// Divergent branches around loads and stores.
extern "C" __global__ void branches(const int* values, int* out, int size, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int step = 0; step < steps; step++) {
        int value = values[(i + step * 32) & (size - 1)];
        if (value & 1) sum += values[value & (size - 1)];
        else if (value & 2) out[i] = sum ^ value;
        else sum -= value >> 2;
    }
    out[i] = sum;
}

extern "C" __global__ void histogram_global(const int* values, int* out, int size, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (int step = 0; step < steps; step++) atomicAdd(&out[values[(i + step * threads) & (size - 1)] & 255], 1);
}

extern "C" __global__ void histogram_shared(const int* values, int* out, int size, int steps) {
    __shared__ int bins[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int step = 0; step < steps; step++) atomicAdd(&bins[values[(i + step * threads) & (size - 1)] & 255], 1);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// Tiles of shared memory read along columns, without and with a conflict of all lanes.
extern "C" __global__ void tiles(const int* values, int* out, int size, int steps) {
    __shared__ int padded[32][33], plain[32][32];
    int x = threadIdx.x & 31, y = threadIdx.x >> 5, first = blockIdx.x * 1024;
    int sum = 0;
    for (int step = 0; step < steps; step++) {
        for (int row = y; row < 32; row += 8) {
            padded[row][x] = values[(first + row * 32 + x) & (size - 1)];
            plain[row][x] = padded[row][x] + step;
        }
        __syncthreads();
        for (int row = y; row < 32; row += 8) sum += padded[x][row] + plain[x][row];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// An array of each thread's own, indexed by data: local memory.
extern "C" __global__ void local_array(const int* values, int* out, int size, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int counts[16];
    for (int bin = 0; bin < 16; bin++) counts[bin] = 0;
    for (int step = 0; step < steps; step++) counts[values[(i + step * 32) & (size - 1)] & 15] += step;
    int sum = 0;
    for (int bin = 0; bin < 16; bin++) sum += counts[bin] * (bin + 1);
    out[i] = sum;
}

extern "C" __global__ void nothing(const int* values, int* out, int size, int steps) {}
