// Rung 1: copy in, compute, copy out.
//
// y = ROUNDS steps of v = 0.5 v + 0.25 / (1 + v), elements in the host's memory (page-locked, so that the copy
// engines reach them). One stream does one thing at a time: the link to the host rests while the kernel runs, and works in
// one direction while the other rests.
extern "C" __global__ void __launch_bounds__(BLOCK)
rounds(float* __restrict__ output, const float* __restrict__ input, long long first, long long count) {
    long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    float v = fabsf(input[first + i]);
    for (int r = 0; r < ROUNDS; r++) v = 0.5f * v + 0.25f / (1.0f + v);
    output[first + i] = v;
}
