// Rung 1: a table in global memory.
//
// y = x * table[warp] + table[lane]: a number that all lanes of a warp share, as coefficients are, and one of each lane's own, as
// look-ups are. The lanes' own are 37 entries apart, round about: 16 of the 32 sectors of the table.
extern "C" __global__ void __launch_bounds__(BLOCK)
look_up(float* output, const float* input, const float* table, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) output[i] = input[i] * table[i / 32 % 256] + table[i % 256 * 37 % 256];
}
