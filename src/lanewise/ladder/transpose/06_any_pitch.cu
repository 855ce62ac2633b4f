// Rung 6: whole words, whatever the row length.
//
// Changed: small elements move as words of 4 bytes (8-byte elements as they are), also where a row does not start at
// a multiple of a word. A block reads the words that cover its part of each row, from the word that holds the first
// byte on; shared memory keeps them as they are, and where an element lies in its word follows from the row. On the
// way out a thread gathers the elements of one aligned output word. Only the words that two blocks share are written
// element by element.
//
// Row r of the tile starts r * PITCH + r / ELEMENTS words into shared memory: the lanes of a warp, which gather from
// rows ELEMENTS apart, then find 32 different banks. Blocks go through BAND rows of tiles column by column, so that
// the sectors two tiles share are in the L2 cache when the second tile wants them.
constexpr int WORD = sizeof(Element) > 4 ? sizeof(Element) : 4;    // bytes
constexpr int ELEMENTS = WORD / sizeof(Element);             // of a word
constexpr int WORDS = TILE * sizeof(Element) / WORD + (ELEMENTS > 1);  // of a row of the tile, one more if it starts inside one
constexpr int PITCH = (WORDS + 1) / 2 * 2;
constexpr int THREADS = 256;
constexpr int AT_ONCE = WORD > 4 ? 4 : 8;

template <int bytes> struct Unsigned;
template <> struct Unsigned<1> { typedef unsigned char type; };
template <> struct Unsigned<2> { typedef unsigned short type; };
template <> struct Unsigned<4> { typedef unsigned int type; };
template <> struct Unsigned<8> { typedef unsigned long long type; };
typedef Unsigned<WORD>::type Word;
typedef Unsigned<sizeof(Element)>::type Bits;   // an element as it lies in memory, so that it can be shifted

__device__ int inside_word(unsigned long long address) { return int(address % WORD) / int(sizeof(Element)); }

extern "C" __global__ void __launch_bounds__(THREADS, 4)
transpose(Element* __restrict__ target, const Element* __restrict__ source, int rows, int columns) {
    Bits* __restrict__ output = (Bits*)target;
    const Bits* __restrict__ input = (const Bits*)source;
    __shared__ Word tile[TILE * PITCH + TILE / ELEMENTS];
    int tile_columns = (columns + TILE - 1) / TILE, tile_rows = (rows + TILE - 1) / TILE;
    unsigned band_tiles = unsigned(BAND) * tile_columns;
    int first_of_band = blockIdx.x / band_tiles * BAND;
    int band = min(BAND, tile_rows - first_of_band);
    int place = blockIdx.x % band_tiles;
    int first_row = (first_of_band + place % band) * TILE, first_column = place / band * TILE;
    int height = min(TILE, rows - first_row), width = min(TILE, columns - first_column);

    // Inside the matrix every word can be read whole: AT_ONCE loads are in flight before the first is stored.
    const Bits* input_end = input + size_t(rows) * columns;
    const Bits* corner_of_tile = input + size_t(first_row) * columns + first_column;
    bool inside = height == TILE && width == TILE && blockIdx.x > 0 &&
                  corner_of_tile + size_t(TILE - 1) * columns + (TILE + 2 * ELEMENTS) <= input_end;
    for (int begin = threadIdx.x; begin < TILE * WORDS; begin += AT_ONCE * THREADS) {
        Word words[AT_ONCE];
        if (inside) {
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                int i = begin + k * THREADS, r = i / WORDS, w = i % WORDS;
                const Bits* start = corner_of_tile + size_t(r) * columns;
                const Bits* from = start - inside_word((unsigned long long)start) + w * ELEMENTS;
                if (i < TILE * WORDS) words[k] = *(const Word*)from;
            }
        } else {
            for (int k = 0; k < AT_ONCE; k++) {
                int i = begin + k * THREADS, r = i / WORDS, w = i % WORDS;
                const Bits* start = corner_of_tile + size_t(r) * columns;
                const Bits* from = start - inside_word((unsigned long long)start) + w * ELEMENTS;
                Word word = 0;
                for (int e = 0; e < ELEMENTS; e++)
                    if (r < height && from + e >= start && from + e < start + width)
                        word |= Word(from[e]) << (8 * sizeof(Element) * e % (8 * WORD));
                words[k] = word;
            }
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            int i = begin + k * THREADS, r = i / WORDS, w = i % WORDS;
            if (i < TILE * WORDS) tile[r * PITCH + r / ELEMENTS + w] = words[k];
        }
    }
    __syncthreads();

    const Bits* elements = (const Bits*)tile;
    int corner = inside_word((unsigned long long)corner_of_tile);
    int row_shift = columns % ELEMENTS;
#pragma unroll 4
    for (int i = threadIdx.x; i < TILE * WORDS; i += THREADS) {
        int c = i / WORDS, w = i % WORDS;
        if (c >= width) break;
        Bits* start = output + size_t(first_column + c) * rows + first_row;
        int first = w * ELEMENTS - inside_word((unsigned long long)start);
        Bits part[ELEMENTS];
#pragma unroll
        for (int e = 0; e < ELEMENTS; e++) {
            int r = min(max(first + e, 0), TILE - 1);
            int shift = (corner + r * row_shift) % ELEMENTS;
            part[e] = elements[(r * PITCH + r / ELEMENTS) * ELEMENTS + shift + c];
        }
        if (first >= 0 && first + ELEMENTS <= height) {
            Word word = 0;
#pragma unroll
            for (int e = 0; e < ELEMENTS; e++) word |= Word(part[e]) << (8 * sizeof(Element) * e % (8 * WORD));
            *(Word*)(start + first) = word;
        } else {
#pragma unroll
            for (int e = 0; e < ELEMENTS; e++)
                if (first + e >= 0 && first + e < height) start[first + e] = part[e];
        }
    }
}
