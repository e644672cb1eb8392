// SPDX-License-Identifier: Apache-2.0
// fork: children that use CUDA for themselves, and one that inherits a context and only exits.
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void fill(int *values, int count, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    values[i] = value;
  }
}

static int use(int value) {
  const int count = 5000;
  int *values;
  CHECK(cudaMalloc(&values, count * sizeof(int)));
  fill<<<(count + 127) / 128, 128>>>(values, count, value);
  launched();
  require_equal(host_copy(values, count), std::vector<int>(count, value));
  CHECK(cudaFree(values));
  return 0;
}

static void wait_for(pid_t child) {
  int status;
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
      "child %d ended with %x", child, status);
}

int main() {
  const int children = 3;
  pid_t child[children];
  for (int i = 0; i < children; i++) {
    child[i] = fork();
    REQUIRE(child[i] >= 0, "no child %d", i);
    if (child[i] == 0) {
      std::_Exit(use(10 + i));
    }
  }
  use(1);
  int *kept;
  CHECK(cudaMalloc(&kept, sizeof(int)));
  CHECK(cudaMemset(kept, 0x11, sizeof(int)));
  for (pid_t one : child) {
    wait_for(one);
  }
  // A child of a process that already uses CUDA, as of a data loader, leaves through exit().
  pid_t idle = fork();
  if (idle == 0) {
    std::exit(0);
  }
  wait_for(idle);
  REQUIRE(host_copy(kept, 1)[0] == 0x11111111, "the parent's memory changed");
  use(2);
  CHECK(cudaFree(kept));
  return ok("%d children with their own devices, one that only exits", children);
}
