// Rung 10: tiles in and out by the bulk tensor copy engine.
//
// The machine feature: one thread asks the engine (cp.async.bulk.tensor, compute capability 9.0) for a *box* of a matrix
// that a tensor map describes; the engine brings it into shared memory, tells an mbarrier how many bytes have come, and
// takes boxes out the same way. What lies outside the matrix it fills with zeros and does not write. With the 128-byte
// swizzle the 16-byte vector q of row r lies at place q ^ r % 8.
//
// Changed against rung 6: no thread loads or stores global memory, so no address is computed and no request waits for a
// place in the queue of the load unit: all of a block's tile is on its way after a few instructions. A box is 128 bytes
// x 128 / size rows, so turned it is a box again and stays where it was. GROUPS groups of 64 threads have PER boxes each;
// lanes take blocks on a diagonal of the box: eight neighbours read eight places of a row and write eight of a column.
// WIDE x TALL boxes are a tile. It wins where all is in the L2 cache; where DRAM bounds, rung 6 does.
// Needs both row lengths to be multiples of 16 bytes.
constexpr int V = 16 / sizeof(Element), SIDE = 128 / sizeof(Element), BOX = SIDE * 128;   // SIDE: elements; BOX: bytes
static_assert(WIDE * TALL == GROUPS * PER, "every box has a group");

struct alignas(16) Vector { unsigned int word[4]; };
struct alignas(64) TensorMap {
    unsigned char opaque[128];
};

__device__ unsigned int shared_address(const void* pointer) { return (unsigned int)__cvta_generic_to_shared(pointer); }

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

extern "C" __global__ void __launch_bounds__(64 * GROUPS)
transpose(const __grid_constant__ TensorMap map_out, const __grid_constant__ TensorMap map_in, int rows, int columns) {
    extern __shared__ __align__(1024) unsigned char boxes[];   // [WIDE * TALL][SIDE][128]
    __shared__ unsigned long long barriers[GROUPS];
    int tile_columns = (columns + WIDE * SIDE - 1) / (WIDE * SIDE), tile_rows = (rows + TALL * SIDE - 1) / (TALL * SIDE);
    unsigned band_tiles = unsigned(BAND) * tile_columns;
    int first_of_band = blockIdx.x / band_tiles * BAND;
    int band = min(BAND, tile_rows - first_of_band);
    int place = blockIdx.x % band_tiles;
    int first_row = (first_of_band + place % band) * (TALL * SIDE), first_column = place / band * (WIDE * SIDE);
    int group = threadIdx.x / 64, t = threadIdx.x % 64;
    unsigned int arrived = shared_address(barriers + group);
    auto together = [&] { asm volatile("bar.sync %0, 64;" ::"r"(group) : "memory"); };   // the group's threads

    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrived) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "r"(PER * BOX) : "memory");
        for (int box = group; box < WIDE * TALL; box += GROUPS)
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
                "[%4];" ::"r"(shared_address(boxes + box * BOX)),
                "l"(&map_in), "r"(first_column + box % WIDE * SIDE), "r"(first_row + box / WIDE * SIDE), "r"(arrived)
                : "memory");
    }
    together();
    asm volatile(
        "{\n .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
        " @!done bra again;\n}" ::"r"(arrived)
        : "memory");

    int x = t % 8, y = (t / 8 + x) % 8;
    Vector in[PER][V];
#pragma unroll
    for (int p = 0; p < PER; p++)
#pragma unroll
        for (int k = 0; k < V; k++) {
            int row = y * V + k;
            in[p][k] = *(const Vector*)(boxes + (group + p * GROUPS) * BOX + row * 128 + (x ^ row % 8) * 16);
        }
    together();
#pragma unroll
    for (int p = 0; p < PER; p++) {
        Vector out[V];
        turn(out, in[p]);
#pragma unroll
        for (int j = 0; j < V; j++) {
            int row = x * V + j;
            *(Vector*)(boxes + (group + p * GROUPS) * BOX + row * 128 + (y ^ row % 8) * 16) = out[j];
        }
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");   // what threads have stored, the engine will read
    together();
    if (t == 0) {
        for (int box = group; box < WIDE * TALL; box += GROUPS)
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map_out),
                         "r"(first_row + box / WIDE * SIDE), "r"(first_column + box % WIDE * SIDE),
                         "r"(shared_address(boxes + box * BOX))
                         : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
