// Rung 9: rows of any length, in aligned pieces on both sides.
//
// Changed: what a block writes of an output row begins and ends at sectors of 32 bytes, wherever the row itself begins: no
// sector is written by two blocks, but for the ends of rows. So a block reads two vectors of rows more than it writes,
// and which of them end up in a piece differs from output row to output row.
//
// Changed: input rows come as the aligned vectors of 16 bytes that cover them, by cp.async (straight to shared memory,
// 16 bytes whatever the row's length, no registers while they are on their way). A thread takes two neighbours out of
// there and shifts them by as many bytes as the row begins behind a multiple of 16; the same on the way out.
//
// LOAD_BYTES and STORE_BYTES are the largest powers of two that divide the row lengths, at most 16: shifts are multiples
// of them. A tile is WIDE x TALL vectors on the way in, WIDE x (TALL - 2) on the way out. PAST_L1: whether copies go past
// the first-level cache. Then they are counted by sectors, and one that lies differently in shared memory takes two turns.
#if PAST_L1
#define THROUGH "cg"
#else
#define THROUGH "ca"
#endif
constexpr int V = 16 / sizeof(Element), SIZE = sizeof(Element);
constexpr int TILE_COLUMNS = WIDE * V, TILE_ROWS = TALL * V, STEP = (TALL - 2) * V;   // STEP: rows from tile to tile
constexpr int THREADS = WIDE * TALL;
constexpr int IN_PITCH = WIDE + 1, OUT_PITCH = TALL + 1;   // vectors; odd, so that eight rows lie in eight groups of banks

struct alignas(16) Vector { unsigned int word[4]; };

// Bytes of an address behind a multiple of `unit`.
__device__ int behind(const void* address, int unit) { return int((unsigned long long)address % unit); }

// 16 bytes, `by` bytes (a multiple of GRANULE) behind the start of `low`, which `high` follows.
template <int GRANULE>
__device__ Vector shifted(Vector low, Vector high, int by) {
    unsigned int w[8];
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = low.word[i], w[i + 4] = high.word[i];
    if (GRANULE < 16) {
#pragma unroll
        for (int i = 0; i < 6; i++) w[i] = by & 8 ? w[i + 2] : w[i];
    }
    if (GRANULE < 8) {
#pragma unroll
        for (int i = 0; i < 5; i++) w[i] = by & 4 ? w[i + 1] : w[i];
    }
    if (GRANULE < 4) {
#pragma unroll
        for (int i = 0; i < 4; i++) w[i] = __funnelshift_r(w[i], w[i + 1], 8 * (by & 3));
    }
    return {w[0], w[1], w[2], w[3]};
}

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

extern "C" __global__ void __launch_bounds__(THREADS)
transpose(Element* __restrict__ output, const Element* __restrict__ input, int rows, int columns) {
    // First [TILE_ROWS][IN_PITCH], then [WIDE * V][OUT_PITCH]: column x * V + j of the tile in row j * WIDE + x.
    extern __shared__ Vector tile[];
    int tile_columns = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS, tile_rows = (rows + STEP - 1) / STEP;
    unsigned band_tiles = unsigned(BAND) * tile_columns;
    int first_of_band = blockIdx.x / band_tiles * BAND;
    int band = min(BAND, tile_rows - first_of_band);
    int place = blockIdx.x % band_tiles;
    int first_row = (first_of_band + place % band) * STEP, first_column = place / band * TILE_COLUMNS;
    int t = threadIdx.x;

    const char *start = (const char*)input, *end = start + size_t(rows) * columns * SIZE;
    const char* corner = start + (size_t(first_row) * columns + first_column) * SIZE;
    size_t pitch = size_t(columns) * SIZE;
#pragma unroll 2
    for (int i = t; i < TILE_ROWS * IN_PITCH; i += THREADS) {
        int row = i / IN_PITCH;
        const char* from = corner + row * pitch;
        from += i % IN_PITCH * 16 - behind(from, 16);
        bool there = first_row + row < rows && from < end;
        int bytes = there ? int(min(size_t(end - from), size_t(16))) : 0;   // the rest is set to zero
        asm volatile("cp.async." THROUGH ".shared.global [%0], [%1], 16, %2;" ::"r"(
                         (unsigned int)__cvta_generic_to_shared(tile + i)),
                     "l"(there ? from : start), "r"(bytes));
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();

    int x = t % WIDE, y = t / WIDE;
    Vector in[V], out[V];
#pragma unroll
    for (int k = 0; k < V; k++) {
        const Vector* at = tile + (y * V + k) * IN_PITCH + x;
        in[k] = shifted<LOAD_BYTES>(at[0], at[LOAD_BYTES < 16], behind(corner + (y * V + k) * pitch, 16));
    }
    turn(out, in);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < V; j++) tile[(j * WIDE + x) * OUT_PITCH + y] = out[j];
    __syncthreads();

    int slot = t % TALL;   // of 16 bytes; a piece has TALL - 2, in the first tile up to TALL that its row may share
#pragma unroll 2
    for (int r = t / TALL; r < TILE_COLUMNS; r += THREADS / TALL) {
        int column = first_column + r % WIDE * V + r / WIDE;
        if (column >= columns) continue;
        char* to = (char*)(output + size_t(column) * rows + first_row);
        // In bytes from `to`: the piece, and this thread's part of it; the first one of a row may begin before the row.
        int off = behind(to, 32), begin = first_row ? -off & 31 : -off, at = begin + 16 * slot;
        int stop = min(min(rows - first_row, TILE_ROWS) * SIZE, STEP * SIZE + (-off & 31));
        if (at >= stop) continue;
        const Vector* of_row = tile + r * OUT_PITCH;
        int low = at >> 4, high = min(max(low + (STORE_BYTES < 16), 0), TALL - 1);
        Vector v = shifted<STORE_BYTES>(of_row[max(low, 0)], of_row[high], at & 15);
        if (at >= 0 && at + 16 <= stop) {
            *(Vector*)(to + at) = v;
        } else {
#pragma unroll
            for (int e = 0; e < V; e++)
                if (at + e * SIZE >= 0 && at + e * SIZE < stop) ((Element*)(to + at))[e] = ((const Element*)&v)[e];
        }
    }
}
