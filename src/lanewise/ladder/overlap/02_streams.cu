// Rung 2: pieces on several streams.
//
// Changed: not the kernel. The array goes in PIECES, round about on STREAMS streams: piece i is copied in, computed and copied
// out in order on its stream, while other streams' pieces are at other stages. The card has an engine for each
// direction of the link, so that copies in, kernels and copies out overlap; the time tends to that of the slowest.
extern "C" __global__ void __launch_bounds__(BLOCK)
rounds(float* __restrict__ output, const float* __restrict__ input, long long first, long long count) {
    long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    float v = fabsf(input[first + i]);
    for (int r = 0; r < ROUNDS; r++) v = 0.5f * v + 0.25f / (1.0f + v);
    output[first + i] = v;
}
