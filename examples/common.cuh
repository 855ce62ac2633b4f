// Shared by the examples: error checks, deterministic input, device arrays, comparison with a reference.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// Every runtime call can fail, also with the error of an earlier kernel: look at each result.
#define CHECK(call)                                                                                  \
    do {                                                                                             \
        cudaError_t error_ = (call);                                                                 \
        if (error_ != cudaSuccess) {                                                                 \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            std::exit(1);                                                                            \
        }                                                                                            \
    } while (0)

// After a launch: was it accepted, and did it run to its end?
inline void finish() {
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Pseudo-random bits that depend only on the index and the seed, so every run sees the same input.
inline uint32_t random_bits(uint32_t index, uint32_t seed) {
    uint32_t x = index * 2654435761u + seed * 40503u + 1u;
    x = (x ^ (x >> 15)) * 2246822519u;
    x = (x ^ (x >> 13)) * 3266489917u;
    return x ^ (x >> 16);
}

// n floats in [-1, 1), multiples of 2^-23.
inline std::vector<float> random_floats(size_t n, uint32_t seed) {
    std::vector<float> values(n);
    for (size_t i = 0; i < n; i++) values[i] = (random_bits(i, seed) >> 8) / 8388608.0f - 1.0f;
    return values;
}

// n integers in [0, limit).
inline std::vector<int> random_ints(size_t n, int limit, uint32_t seed) {
    std::vector<int> values(n);
    for (size_t i = 0; i < n; i++) values[i] = static_cast<int>(random_bits(i, seed) % static_cast<uint32_t>(limit));
    return values;
}

// An array in device memory that frees itself. Host code may pass `data` on, but never read through it.
template <class T>
struct DeviceArray {
    T* data = nullptr;
    size_t size;

    explicit DeviceArray(size_t n) : size(n) {
        CHECK(cudaMalloc(&data, n * sizeof(T)));
        CHECK(cudaMemset(data, 0, n * sizeof(T)));
    }
    explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) { upload(host); }
    ~DeviceArray() { cudaFree(data); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    void upload(const std::vector<T>& host) {
        CHECK(cudaMemcpy(data, host.data(), size * sizeof(T), cudaMemcpyHostToDevice));
    }
    void clear() { CHECK(cudaMemset(data, 0, size * sizeof(T))); }
    std::vector<T> download() const {
        std::vector<T> host(size);
        CHECK(cudaMemcpy(host.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }
};

inline const char* type_name(float) { return "float32"; }
inline const char* type_name(int) { return "int32"; }

// The command line `[sizes...] [--dump FILE]`, and the verdict on each kernel.
// A dump holds one record per array: a line "name type count", then the array's bytes.
class Example {
    std::vector<int> sizes_;
    FILE* file_ = nullptr;
    bool failed_ = false;

public:
    Example(int argc, char** argv) {
        for (int i = 1; i < argc; i++) {
            if (std::strcmp(argv[i], "--dump") == 0 && i + 1 < argc) {
                file_ = std::fopen(argv[++i], "wb");
                if (!file_) std::perror(argv[i]), std::exit(2);
            } else if (std::atoi(argv[i]) > 0) {
                sizes_.push_back(std::atoi(argv[i]));
            } else {
                std::fprintf(stderr, "usage: %s [sizes...] [--dump FILE]\n", argv[0]);
                std::exit(2);
            }
        }
    }
    ~Example() {
        if (file_) std::fclose(file_);
    }

    // The size given at this place of the command line, or the default.
    int size(size_t place, int otherwise) const { return place < sizes_.size() ? sizes_[place] : otherwise; }

    template <class T>
    void dump(const std::string& name, const std::vector<T>& values) {
        if (!file_) return;
        std::fprintf(file_, "%s %s %zu\n", name.c_str(), type_name(T{}), values.size());
        std::fwrite(values.data(), sizeof(T), values.size(), file_);
    }

    // Compare a kernel's result with the reference: |got - want| <= tolerance * (1 + |want|) for each element.
    template <class T>
    void check(const std::string& name, const std::vector<T>& got, const std::vector<T>& want, double tolerance = 0) {
        dump(name, got);
        for (size_t i = 0; i < want.size(); i++) {
            double difference = std::fabs(double(got[i]) - double(want[i]));
            if (difference <= tolerance * (1 + std::fabs(double(want[i])))) continue;
            std::printf("%s FAILED: element %zu is %g, expected %g\n", name.c_str(), i, double(got[i]), double(want[i]));
            failed_ = true;
            return;
        }
        std::printf("%s OK\n", name.c_str());
    }

    int exit_code() const { return failed_ ? 1 : 0; }
};
