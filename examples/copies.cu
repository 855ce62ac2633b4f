// The same number of useful bytes, copied in ways that touch different numbers of 32-byte sectors.
// usage: copies [n] [stride] [offset]
#include "common.cuh"

// 32 lanes, 128 contiguous bytes: 4 sectors, all of them used.
__global__ void copy_contiguous(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

// With a stride of 8 floats or more every lane needs a sector of its own, and uses 4 of its 32 bytes.
__global__ void copy_strided(const float* in, float* out, int n, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[size_t(i) * stride];
}

// Contiguous, but not starting at a sector: the warp's 128 bytes lie in 5 sectors.
__global__ void copy_offset(const float* in, float* out, int n, int offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i + offset];
}

// 16 bytes per lane: a quarter of the instructions for the same bytes. The pointers must be multiples of 16.
__global__ void copy_float4(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4)
        reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(in)[i];
    else if (i < n / 4 + n % 4)  // up to three elements are left over
        out[n / 4 * 4 + i - n / 4] = in[n / 4 * 4 + i - n / 4];
}

// An array of structures: the lanes' x are 16 bytes apart, and y and z travel along unused.
struct Particle {
    float x, y, z, mass;
};

__global__ void weigh_array_of_structures(const Particle* particles, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = particles[i].x * particles[i].mass;
}

// A structure of arrays: each array is read contiguously, and only those that are needed.
struct Particles {
    const float *x, *y, *z, *mass;
};

__global__ void weigh_structure_of_arrays(Particles particles, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = particles.x[i] * particles.mass[i];
}

int main(int argc, char** argv) {
    Example example(argc, argv);
    int n = example.size(0, 1 << 18), stride = example.size(1, 8), offset = example.size(2, 1);
    int blocks = ceil_div(n, 256);
    std::vector<float> in = random_floats(size_t(n) * stride + offset, 1);
    DeviceArray<float> device_in(in), out(n);
    example.dump("in", in);

    // Compares `out` with in[first + i * step], then empties it for the next kernel.
    auto check_copy = [&](const char* name, int first, int step) {
        finish();
        std::vector<float> expected(n);
        for (int i = 0; i < n; i++) expected[i] = in[first + size_t(i) * step];
        example.check(name, out.download(), expected);
        out.clear();
    };
    copy_contiguous<<<blocks, 256>>>(device_in.data, out.data, n);
    check_copy("copy_contiguous", 0, 1);
    copy_strided<<<blocks, 256>>>(device_in.data, out.data, n, stride);
    check_copy("copy_strided", 0, stride);
    copy_offset<<<blocks, 256>>>(device_in.data, out.data, n, offset);
    check_copy("copy_offset", offset, 1);
    copy_float4<<<ceil_div(n / 4 + n % 4, 256), 256>>>(device_in.data, out.data, n);
    check_copy("copy_float4", 0, 1);

    std::vector<float> x = random_floats(n, 2), mass = random_floats(n, 3), product(n);
    std::vector<Particle> particles(n);
    for (int i = 0; i < n; i++) {
        particles[i] = {x[i], 0, 0, mass[i]};
        product[i] = x[i] * mass[i];
    }
    DeviceArray<Particle> device_particles(particles);
    DeviceArray<float> device_x(x), device_y(n), device_z(n), device_mass(mass);
    example.dump("x", x);
    example.dump("mass", mass);
    weigh_array_of_structures<<<blocks, 256>>>(device_particles.data, out.data, n);
    finish();
    example.check("weigh_array_of_structures", out.download(), product);
    out.clear();
    Particles arrays = {device_x.data, device_y.data, device_z.data, device_mass.data};
    weigh_structure_of_arrays<<<blocks, 256>>>(arrays, out.data, n);
    finish();
    example.check("weigh_structure_of_arrays", out.download(), product);
    return example.exit_code();
}
