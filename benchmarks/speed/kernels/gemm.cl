// C = A B for square matrices of n x n floats; n is a multiple of 32. The same as gemm.cu, statement by statement.
__kernel void gemm_naive(__global const float* a, __global const float* b, __global float* c, int n) {
    int col = get_group_id(0) * get_local_size(0) + get_local_id(0);
    int row = get_group_id(1) * get_local_size(1) + get_local_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

__kernel void gemm_tiled(__global const float* a, __global const float* b, __global float* c, int n) {
    __local float tile_a[32][32];
    __local float tile_b[32][32];
    int x = get_local_id(0), y = get_local_id(1);
    int col = get_group_id(0) * 32 + x;
    int row = get_group_id(1) * 32 + y;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += 32) {
        tile_a[y][x] = a[row * n + k0 + x];
        tile_b[y][x] = b[(k0 + y) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 32; k++) sum += tile_a[y][k] * tile_b[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = sum;
}
