// SPDX-License-Identifier: Apache-2.0
// A kernel writes out of range: the error stays with its own process, and another process goes on.
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void write_far(int *values, long long distance) { values[distance] = 1; }

__global__ void increment(int *values, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    values[i]++;
  }
}

static void faulty() {
  int *values;
  CHECK(cudaMalloc(&values, 64));
  write_far<<<1, 1>>>(values, 1LL << 40);
  EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
  // Sticky: whatever comes next says the same, and no error state is there to be reset.
  int host;
  EXPECT(cudaErrorIllegalAddress, cudaMemcpy(&host, values, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
  EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
  int *more;
  EXPECT(cudaErrorIllegalAddress, cudaMalloc(&more, 64));
}

int main() {
  int to_child[2], to_parent[2];
  REQUIRE(pipe(to_child) == 0 && pipe(to_parent) == 0, "no pipe");
  pid_t child = fork();
  REQUIRE(child >= 0, "no second process");
  char byte = 0;
  if (child == 0) {
    CHECK(cudaFree(nullptr));
    REQUIRE(read(to_child[0], &byte, 1) == 1, "the first process went away");
    faulty();
    REQUIRE(write(to_parent[1], &byte, 1) == 1, "the first process went away");
    std::_Exit(0);
  }
  close(to_parent[1]);
  const int count = 10000, before = 20, after = 30;
  int *values;
  CHECK(cudaMalloc(&values, count * sizeof(int)));
  CHECK(cudaMemset(values, 0, count * sizeof(int)));
  for (int i = 0; i < before; i++) {
    increment<<<(count + 255) / 256, 256>>>(values, count);
  }
  REQUIRE(write(to_child[1], &byte, 1) == 1, "the second process went away");
  REQUIRE(read(to_parent[0], &byte, 1) == 1, "the second process failed");
  for (int i = 0; i < after; i++) {
    increment<<<(count + 255) / 256, 256>>>(values, count);
  }
  launched();
  int status;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0, "the second process ended with %x",
      status);
  require_equal(host_copy(values, count), std::vector<int>(count, before + after));
  CHECK(cudaFree(values));
  return ok("sticky in one process, unseen in the other");
}
