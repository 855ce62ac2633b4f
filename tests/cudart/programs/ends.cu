// Ways in which a program can end, one per argument.
#include "check.h"
#include <cassert>
#include <csignal>
#include <cstdint>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

extern "C" __global__ void say(int n) { printf("kernel says %d\n", n); }
extern "C" __global__ void fail(int error) {
  __shared__ int words[2];
  if (error == cudaErrorIllegalAddress) *(volatile int*)nullptr = 1;
  if (error == cudaErrorMisalignedAddress) *(volatile int*)((char*)words + threadIdx.x + 1) = 1;
  if (error == cudaErrorLaunchFailure) __trap();
  assert(error != cudaErrorAssert);
}
extern "C" __global__ void mistake() { }
extern "C" __global__ void wait_for_end() { }
extern "C" __global__ void iota(int* out, int first) { out[threadIdx.x] = first + threadIdx.x; }

static int sticky(int code, bool real) {
  int n = 0;
  void* p;
  OK(cudaMalloc(&p, 16));
  fail<<<1, 1>>>(code);
  OK(cudaGetLastError());  // the launch itself went well
  GIVES((cudaError_t)code, cudaDeviceSynchronize());
  GIVES((cudaError_t)code, cudaGetLastError());
  OK(cudaGetLastError());
  GIVES((cudaError_t)code, cudaMalloc(&p, 16));
  GIVES((cudaError_t)code, cudaMemcpy(&n, p, 4, cudaMemcpyDeviceToHost));
  OK(cudaGetDeviceCount(&n));
  OK(cudaDeviceReset());
#ifndef CARD  // the H200 here stays unavailable to the process: cudaErrorDevicesUnavailable
  OK(cudaMalloc(&p, 16));
  OK(cudaDeviceSynchronize());
  fail<<<1, 1>>>(cudaErrorInvalidValue);  // the fake device refuses this one
  GIVES(real ? cudaSuccess : cudaErrorInvalidValue, cudaGetLastError());
  OK(cudaDeviceSynchronize());
#endif
  return failures;
}

static int forked() {
  pid_t child = fork();  // before the device is used: the child has one of its own
  if (!child) {
    int* p;
    int host[4];
    OK(cudaMalloc(&p, 16));
    iota<<<1, 4>>>(p, 3);
    OK(cudaMemcpy(host, p, 16, cudaMemcpyDeviceToHost));
    CHECK(host[3] == 6);
    std::fflush(stdout);
    _exit(failures);
  }
  int status;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  OK(cudaFree(nullptr));
  void* p;
  OK(cudaMalloc(&p, 16));
  child = fork();  // too late
  if (!child) {
    GIVES(cudaErrorInitializationError, cudaMalloc(&p, 16));
    std::fflush(stdout);
    _exit(failures);
  }
  waitpid(child, &status, 0);
  CHECK(status == 0);
  OK(cudaFree(p));
  return failures;
}

static void mine(int) {
  static const char text[] = "my handler\n";
  ssize_t ignored = write(1, text, sizeof text - 1);
  (void)ignored;
  _exit(9);
}

int main(int argc, char** argv) {
  std::string way = argc > 1 ? argv[1] : "";
  int* p;
  if (way == "sticky") return sticky(std::atoi(argv[2]), argc > 3);
  if (way == "fork") return forked();
  if (way == "exit") std::exit(std::atoi(argv[2]));
  if (cudaMalloc(&p, 40) != cudaSuccess) return 99;
  if (way == "abort") std::abort();
  if (way == "kill") raise(SIGKILL);
  if (way == "read") { std::printf("about to read\n"); std::fflush(stdout); return p[3]; }
  if (way == "write") p[9] = 1;
  if (way == "beyond") return p[100000];
  if (way == "freed") { cudaFree(p); return p[2] + 1; }
  if (way == "null") return *(volatile int*)(intptr_t)(argc - 2);
  if (way == "handled") { signal(SIGSEGV, mine); return p[0]; }
  if (way == "syscall") return write(1, p, 40) == -1 ? 0 : 1;
  if (way == "say") {
    std::printf("before\n");
    say<<<1, 1>>>(1);
    std::printf("between\n");
    cudaDeviceSynchronize();
    std::printf("after\n");
    say<<<1, 1>>>(2);
    return 0;
  }
  if (way == "mistake") {
    mistake<<<1, 1>>>();
    GIVES(cudaErrorUnknown, cudaGetLastError());
    return failures;
  }
  if (way == "blocking") {
    fail<<<1, 1>>>(cudaErrorIllegalAddress);
    GIVES(cudaErrorIllegalAddress, cudaGetLastError());
    return failures;
  }
  if (way == "wait") {
    std::printf("waiting\n");
    std::fflush(stdout);
    wait_for_end<<<1, 1>>>();
  }
  if (way == "die in launch") {
    alarm(1);
    wait_for_end<<<1, 1>>>();
  }
  return 0;
}
