// Rung 8: no shared memory at all.
//
// Changed: a thread turns its block of V rows of one vector in registers and stores the V turned vectors straight away.
// Lanes lie WIDE x TALL: WIDE neighbouring vectors of each input row are read by one request and TALL neighbouring vectors
// of each output row are written by one, whole sectors on both sides. Nothing is exchanged, so no warp waits for another.
//
// It is slower than rung 6 everywhere (docs/ladder/transpose.md): the barrier was not what bounds, and pieces of 64 to 128
// bytes are worse for DRAM than pieces of 256.
//
// Blocks of WARPS_WIDE x WARPS_TALL warps go through BAND rows of tiles column by column, as before. BYTES is the width of
// an access: 16, or 8 for more threads of fewer registers. Needs both row lengths to be multiples of BYTES.
constexpr int WORDS = BYTES / 4, V = BYTES / sizeof(Element);
constexpr int TALL = 32 / WIDE, WARPS = WARPS_WIDE * WARPS_TALL;
constexpr int TILE_ROWS = WARPS_TALL * TALL * V, TILE_COLUMNS = WARPS_WIDE * WIDE * V;   // elements of the input

struct alignas(BYTES) Vector { unsigned int word[WORDS]; };

// out[j] gets element j of every in[k].
__device__ void turn(Vector (&out)[V], const Vector (&in)[V]) {
    if constexpr (sizeof(Element) == 8) {
#pragma unroll
        for (int j = 0; j < V; j++)
#pragma unroll
            for (int w = 0; w < WORDS; w++) out[j].word[w] = in[w / 2].word[2 * j + w % 2];
    } else if constexpr (sizeof(Element) == 4) {
#pragma unroll
        for (int j = 0; j < V; j++)
#pragma unroll
            for (int k = 0; k < V; k++) out[j].word[k] = in[k].word[j];
    } else if constexpr (sizeof(Element) == 2) {
#pragma unroll
        for (int j = 0; j < V; j++)
#pragma unroll
            for (int w = 0; w < WORDS; w++)
                out[j].word[w] =
                    __byte_perm(in[2 * w].word[j / 2], in[2 * w + 1].word[j / 2], j % 2 ? 0x7632 : 0x5410);
    } else {
#pragma unroll
        for (int w = 0; w < WORDS; w++)      // word of the result: rows 4 w to 4 w + 3
#pragma unroll
            for (int j = 0; j < V; j += 4) {
                unsigned a = in[4 * w].word[j / 4], b = in[4 * w + 1].word[j / 4];
                unsigned c = in[4 * w + 2].word[j / 4], d = in[4 * w + 3].word[j / 4];
                unsigned ab_low = __byte_perm(a, b, 0x5140), ab_high = __byte_perm(a, b, 0x7362);
                unsigned cd_low = __byte_perm(c, d, 0x5140), cd_high = __byte_perm(c, d, 0x7362);
                out[j].word[w] = __byte_perm(ab_low, cd_low, 0x5410);
                out[j + 1].word[w] = __byte_perm(ab_low, cd_low, 0x7632);
                out[j + 2].word[w] = __byte_perm(ab_high, cd_high, 0x5410);
                out[j + 3].word[w] = __byte_perm(ab_high, cd_high, 0x7632);
            }
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
transpose(Element* __restrict__ output, const Element* __restrict__ input, int rows, int columns) {
    int tile_columns = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS, tile_rows = (rows + TILE_ROWS - 1) / TILE_ROWS;
    unsigned band_tiles = unsigned(BAND) * tile_columns;
    int first_of_band = blockIdx.x / band_tiles * BAND;
    int band = min(BAND, tile_rows - first_of_band);
    int place = blockIdx.x % band_tiles;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row = (first_of_band + place % band) * TILE_ROWS + (warp / WARPS_WIDE * TALL + lane / WIDE) * V;
    int column = place / band * TILE_COLUMNS + (warp % WARPS_WIDE * WIDE + lane % WIDE) * V;
    if (row >= rows || column >= columns) return;   // both are multiples of V: a thread's block is inside or outside

    Vector in[V], out[V];
#pragma unroll
    for (int k = 0; k < V; k++) in[k] = *(const Vector*)(input + size_t(row + k) * columns + column);
    turn(out, in);
#pragma unroll
    for (int j = 0; j < V; j++) *(Vector*)(output + size_t(column + j) * rows + row) = out[j];
}
