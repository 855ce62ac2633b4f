// Rung 1 and after: how many registers a thread may have.
//
// A thread takes the mean of a column of 64 elements off each of them. It reads the column once and keeps it: 64 registers, and
// some for addresses. Registers are shared out among the threads of a multiprocessor, so fewer a thread means more warps.
//
// Changed: BLOCKS, the second number of __launch_bounds__: so many blocks must fit a multiprocessor at the same time, and the
// compiler may use no more registers than that allows. What does not fit it *spills*: to local memory, which is in
// global memory behind the caches. Loads and stores nobody wrote, of a kernel that reads each element once.
constexpr int ROWS = 64;

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
centre(float* __restrict__ output, const float* __restrict__ input, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float v[ROWS], sum = 0.0f;
#pragma unroll
    for (int j = 0; j < ROWS; j++) v[j] = input[size_t(j) * n + i];
#pragma unroll
    for (int j = 0; j < ROWS; j++) sum += v[j];
#pragma unroll
    for (int j = 0; j < ROWS; j++) output[size_t(j) * n + i] = v[j] - sum * (1.0f / ROWS);
}
