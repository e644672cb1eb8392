// SPDX-License-Identifier: Apache-2.0
// Kernels that are given the host's own address of page-locked memory, however it was allocated, and
// the host's address inside it.
#include "check.h"

struct Job {
  const int *from;
  int count;
  int *to;
};

__global__ void twice(Job job) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < job.count) {
    job.to[i] = 2 * job.from[i];
  }
}

// Ends when the host has raised the flag, or after a while.
__global__ void await_flag(const volatile int *flag, long long patience, int *seen) {
  long long start = clock64();
  while (*flag == 0 && clock64() - start < patience) {
  }
  *seen = *flag;
}

static const int kCount = 50000;

static void jobs(int *from, int *to, const char *how) {
  for (int round = 1; round <= 3; round++) {
    for (int i = 0; i < kCount; i++) {
      from[i] = i * round;
      to[i] = -1;
    }
    // The first elements are left alone: the pointers lie inside the memory.
    Job job = {from + 16, kCount - 16, to + 16};
    twice<<<(kCount + 255) / 256, 256>>>(job);
    launched();
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < kCount; i++) {
      int expected = i < 16 ? -1 : 2 * i * round;
      REQUIRE(to[i] == expected, "%s: element %d is %d, not %d", how, i, to[i], expected);
    }
  }
}

int main() {
  int *from;
  int *to;
  CHECK(cudaMallocHost(&from, kCount * sizeof(int)));
  CHECK(cudaHostAlloc(&to, kCount * sizeof(int), cudaHostAllocPortable));
  jobs(from, to, "allocated");

  std::vector<int> mine(kCount);
  std::vector<int> other(kCount);
  CHECK(cudaHostRegister(mine.data(), kCount * sizeof(int), cudaHostRegisterDefault));
  CHECK(cudaHostRegister(other.data(), kCount * sizeof(int), cudaHostRegisterMapped));
  jobs(mine.data(), other.data(), "registered");
  CHECK(cudaHostUnregister(mine.data()));
  CHECK(cudaHostUnregister(other.data()));

  volatile int *flag;
  int *seen;
  CHECK(cudaHostAlloc(reinterpret_cast<void **>(const_cast<int **>(&flag)), sizeof(int), 0));
  CHECK(cudaMalloc(&seen, sizeof(int)));
  for (int raised = 0; raised < 2; raised++) {
    *flag = raised;
    await_flag<<<1, 1>>>(const_cast<const int *>(flag), 1000000, seen);
    launched();
    REQUIRE(host_copy(seen, 1)[0] == raised, "the kernel saw no %d", raised);
  }
  CHECK(cudaFreeHost(from));
  CHECK(cudaFreeHost(to));
  return ok("%d elements through the host's own addresses", kCount);
}
