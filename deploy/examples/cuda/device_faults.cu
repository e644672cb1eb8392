// SPDX-License-Identifier: Apache-2.0
// Every fault of a kernel has its own sticky error; each is tried in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>

#include "check.h"

__global__ void assert_below(int limit) { assert(int(threadIdx.x) < limit); }

__global__ void read_at(const char *bytes, long long offset, int *out) {
  *out = *reinterpret_cast<const int *>(bytes + offset);
}

__global__ void stop() { __trap(); }

static cudaError_t fault(int kind) {
  char *bytes;
  int *out;
  CHECK(cudaMalloc(&bytes, 256));
  CHECK(cudaMalloc(&out, 4));
  switch (kind) {
    case 0:
      assert_below<<<1, 32>>>(31);
      break;
    case 1:
      read_at<<<1, 1>>>(bytes, 2, out);
      break;
    case 2:
      read_at<<<1, 1>>>(nullptr, 0, out);
      break;
    case 3:
      read_at<<<1, 1>>>(bytes, 1LL << 42, out);
      break;
    default:
      stop<<<1, 32>>>();
  }
  cudaError_t error = cudaDeviceSynchronize();
  int host;
  EXPECT(error, cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost));
  return error;
}

int main() {
  const cudaError_t expected[] = {cudaErrorAssert, cudaErrorMisalignedAddress,
      cudaErrorIllegalAddress, cudaErrorIllegalAddress, cudaErrorLaunchFailure};
  const int kinds = sizeof expected / sizeof *expected;
  for (int kind = 0; kind < kinds; kind++) {
    pid_t child = fork();
    REQUIRE(child >= 0, "no process %d", kind);
    if (child == 0) {
      if (kind == 0) {
        // The assertion's own message goes to standard error.
        REQUIRE(std::freopen("/dev/null", "w", stderr) != nullptr, "no /dev/null");
      }
      EXPECT(expected[kind], fault(kind));
      std::_Exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0, "fault %d ended with %x", kind,
        status);
  }
  return ok("%d kinds of faults", kinds);
}
