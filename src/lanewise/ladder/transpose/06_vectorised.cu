// Rung 6: 16 bytes an access, the small turns in registers.
//
// Changed: a thread reads V rows of one 16-byte vector (V elements of `size` bytes): a V x V block that it turns in
// its registers, by moving bytes between words and not at all for 4- and 8-byte elements. It writes the V turned vectors to shared memory,
// where only whole vectors still have to change places, and reads them back by rows of the output. All four accesses
// are 16 bytes wide, WIDE lanes to as many neighbouring vectors of the input, TALL lanes to those of the output. A tile
// is WIDE x TALL such blocks.
//
// Vector q of tile row r lies at place q ^ (r / V): the eight lanes that share a wavefront differ in q or in r / V.
// Blocks go through BAND rows of tiles column by column. Needs both row lengths to be multiples of 16 bytes.
constexpr int V = 16 / sizeof(Element);
constexpr int TILE_ROWS = TALL * V, TILE_COLUMNS = WIDE * V;   // elements of the input

struct alignas(16) Vector { unsigned int word[4]; };

// out[j] gets element j of every in[k].
__device__ void turn(Vector (&out)[V], const Vector (&in)[V]) {
    if constexpr (sizeof(Element) == 8) {
#pragma unroll
        for (int j = 0; j < V; j++)
#pragma unroll
            for (int w = 0; w < 4; w++) out[j].word[w] = in[w / 2].word[2 * j + w % 2];
    } else if constexpr (sizeof(Element) == 4) {
#pragma unroll
        for (int j = 0; j < V; j++)
#pragma unroll
            for (int k = 0; k < V; k++) out[j].word[k] = in[k].word[j];
    } else if constexpr (sizeof(Element) == 2) {
#pragma unroll
        for (int j = 0; j < V; j++)
#pragma unroll
            for (int w = 0; w < 4; w++)
                out[j].word[w] =
                    __byte_perm(in[2 * w].word[j / 2], in[2 * w + 1].word[j / 2], j % 2 ? 0x7632 : 0x5410);
    } else {
#pragma unroll
        for (int w = 0; w < 4; w++)      // word of the result: rows 4 w to 4 w + 3
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

extern "C" __global__ void __launch_bounds__(WIDE * TALL)
transpose(Element* __restrict__ output, const Element* __restrict__ input, int rows, int columns) {
    extern __shared__ Vector tile[];   // [TILE_COLUMNS][TALL]
    int tile_columns = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS, tile_rows = (rows + TILE_ROWS - 1) / TILE_ROWS;
    unsigned band_tiles = unsigned(BAND) * tile_columns;
    int first_of_band = blockIdx.x / band_tiles * BAND;
    int band = min(BAND, tile_rows - first_of_band);
    int place = blockIdx.x % band_tiles;
    int first_row = (first_of_band + place % band) * TILE_ROWS, first_column = place / band * TILE_COLUMNS;

    Vector in[V], out[V];
    int x = threadIdx.x % WIDE, y = threadIdx.x / WIDE;
    int column = first_column + x * V;
#pragma unroll
    for (int k = 0; k < V; k++) {
        int row = first_row + y * V + k;
        if (row < rows && column < columns) in[k] = *(const Vector*)(input + size_t(row) * columns + column);
    }
    turn(out, in);
#pragma unroll
    for (int j = 0; j < V; j++) tile[(x * V + j) * TALL + (y ^ x % TALL)] = out[j];
    __syncthreads();
    x = threadIdx.x % TALL;
    y = threadIdx.x / TALL;
#pragma unroll
    for (int j = 0; j < V; j++) out[j] = tile[(j * WIDE + y) * TALL + (x ^ (j * WIDE + y) / V % TALL)];
    int to_column = first_row + x * V;
#pragma unroll
    for (int j = 0; j < V; j++) {
        int to_row = first_column + j * WIDE + y;
        if (to_row < columns && to_column < rows) *(Vector*)(output + size_t(to_row) * rows + to_column) = out[j];
    }
}
