// Rung 7: rows of any length, still in words and vectors.
//
// Changed: where a row does not start at a multiple of 16 bytes, a thread reads the 4-byte words that cover its vector
// (one more than fit if the vector starts inside a word) and shifts them into place; on the way out a thread takes a
// word of the output row, made of two neighbouring words of the tile. Only the words that two tiles share are written
// byte by byte. LOAD_BYTES and STORE_BYTES are the largest powers of two that divide the row
// lengths, at most 16. The rest is the rung before.
constexpr int V = 16 / sizeof(Element);
constexpr int TILE = SIDE * V;

struct alignas(16) Vector { unsigned int word[4]; };

// The words that cover the 16 bytes at `place`, one more where a vector may start inside a word.
constexpr int WORDS = LOAD_BYTES < 4 ? 5 : 4;

__device__ void load(unsigned int (&words)[WORDS], const char* place) {
    if constexpr (LOAD_BYTES == 16) {
        *(Vector*)words = *(const Vector*)place;
    } else if constexpr (LOAD_BYTES == 8) {
        *(uint2*)words = *(const uint2*)place;
        *(uint2*)(words + 2) = *(const uint2*)(place + 8);
    } else {
#pragma unroll
        for (int w = 0; w < WORDS; w++) words[w] = *(const unsigned int*)(place - (unsigned long long)place % 4 + 4 * w);
    }
}

__device__ Vector shifted(const unsigned int (&words)[WORDS], const char* place) {
    if constexpr (WORDS == 4) return {words[0], words[1], words[2], words[3]};
    Vector v;
#pragma unroll
    for (int w = 0; w < 4; w++)
        v.word[w] = __funnelshift_r(words[w], words[(w + 1) % WORDS], 8 * ((unsigned long long)place % 4));
    return v;
}

__device__ void store_bytes(char* place, unsigned int word, int from, int to) {
#pragma unroll
    for (int b = 0; b < 4; b++)
        if (b >= from && b < to) *(unsigned char*)(place + b) = (unsigned char)(word >> (8 * b));
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

extern "C" __global__ void __launch_bounds__(SIDE * SIDE)
transpose(Element* __restrict__ output, const Element* __restrict__ input, int rows, int columns) {
    extern __shared__ Vector tile[];   // [TILE][SIDE]
    int tile_columns = (columns + TILE - 1) / TILE, tile_rows = (rows + TILE - 1) / TILE;
    unsigned band_tiles = unsigned(BAND) * tile_columns;
    int first_of_band = blockIdx.x / band_tiles * BAND;
    int band = min(BAND, tile_rows - first_of_band);
    int place = blockIdx.x % band_tiles;
    int first_row = (first_of_band + place % band) * TILE, first_column = place / band * TILE;
    int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;

    // A thread whose vectors end near the end of a row reads element by element: no word behind the matrix is touched.
    Vector out[V];
    int column = first_column + x * V, row = first_row + y * V;
    const Element* corner = input + size_t(row) * columns + column;
    if (column + V + (LOAD_BYTES < 4 ? V / 4 : 0) <= columns) {
        alignas(16) unsigned int words[V][WORDS];
#pragma unroll
        for (int k = 0; k < V; k++)
            if (row + k < rows) load(words[k], (const char*)(corner + size_t(k) * columns));
        Vector in[V];
#pragma unroll
        for (int k = 0; k < V; k++) in[k] = shifted(words[k], (const char*)(corner + size_t(k) * columns));
        turn(out, in);
#pragma unroll
        for (int j = 0; j < V; j++) tile[(x * V + j) * SIDE + (y ^ x)] = out[j];
    } else {
        for (int j = 0; j < V && column + j < columns; j++)
            for (int k = 0; k < V && row + k < rows; k++)
                ((Element*)&tile[(x * V + j) * SIDE + (y ^ x)])[k] = corner[size_t(k) * columns + j];
    }
    __syncthreads();
    int height = min(TILE, rows - first_row);
    if constexpr (STORE_BYTES >= 8) {
#pragma unroll
        for (int j = 0; j < V; j++) out[j] = tile[(j * SIDE + y) * SIDE + (x ^ ((j * SIDE + y) / V))];
#pragma unroll
        for (int j = 0; j < V; j++) {
            int to_row = first_column + j * SIDE + y;
            char* to = (char*)(output + size_t(to_row) * rows + first_row + x * V);
            if (to_row >= columns) continue;
            if (STORE_BYTES == 16 && x * V < height) {
                *(Vector*)to = out[j];
            } else {
                if (x * V < height) *(uint2*)to = {out[j].word[0], out[j].word[1]};
                if (x * V + V / 2 < height) *(uint2*)(to + 8) = {out[j].word[2], out[j].word[3]};
            }
        }
    } else {
        // One thread a word of the output row, ROW_WORDS neighbours: the row's words, shifted to where the row starts.
        constexpr int ROW_WORDS = SIDE * 4, ROWS_AT_ONCE = SIDE * SIDE / ROW_WORDS;
        const unsigned int* words = (const unsigned int*)tile;
        int k = threadIdx.x % ROW_WORDS, bytes = height * int(sizeof(Element));
#pragma unroll 2
        for (int r = threadIdx.x / ROW_WORDS; r < TILE; r += ROWS_AT_ONCE) {
            if (first_column + r >= columns) break;
            char* to = (char*)(output + size_t(first_column + r) * rows + first_row);
            int inside = STORE_BYTES < 4 ? int((unsigned long long)to % 4) : 0;
            auto word_of_row = [&](int w) { return words[(r * SIDE + (w / 4 ^ r / V)) * 4 + w % 4]; };
            unsigned int word = word_of_row(k);
            unsigned int before = inside && k ? word_of_row(k - 1) : 0;
            char* at = to + 4 * k - inside;
            if (at >= to && 4 * k - inside + 4 <= bytes) *(unsigned int*)at = __funnelshift_l(before, word, 8 * inside);
            else store_bytes(at, __funnelshift_l(before, word, 8 * inside), k ? 0 : inside, bytes - (4 * k - inside));
            if (inside && k == ROW_WORDS - 1)
                store_bytes(at + 4, __funnelshift_l(word, 0, 8 * inside), 0, min(inside, bytes - (4 * k - inside) - 4));
        }
    }
}
