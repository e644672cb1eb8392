// SPDX-License-Identifier: Apache-2.0
// With GPUPOOL_SOFT_CHECK=1 a fault on the software GPU is reported on standard error, failed
// assertions are always, by each thread that fails; neither is on standard output.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <string>

#include "check.h"

__global__ void write_at(char *bytes, long long offset) {
  *reinterpret_cast<int *>(bytes + offset) = 1;
}

__global__ void assert_small(int value) { assert(value < 10); }

__global__ void assert_below(int limit) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  assert(thread < limit);
}

// Returns the text that a child process writes to standard error while its kernel faults.
static std::string errors_of(int kind, const char *asked) {
  int ends[2];
  REQUIRE(pipe(ends) == 0, "no pipe");
  std::fflush(stdout);
  pid_t child = fork();
  REQUIRE(child >= 0, "no process %d", kind);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    setenv("GPUPOOL_SOFT_CHECK", asked, 1);
    setenv("GPUPOOL_LOG", asked[0] == '0' ? "off" : "warn", 1);
    char *bytes;
    CHECK(cudaMalloc(&bytes, 256));
    if (kind == 0) {
      write_at<<<1, 1>>>(bytes, 1LL << 42);
      EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    } else if (kind == 1) {
      write_at<<<1, 1>>>(bytes, 2);
      EXPECT(cudaErrorMisalignedAddress, cudaDeviceSynchronize());
    } else {
      if (kind == 2) {
        assert_small<<<1, 1>>>(11);
      } else {
        assert_below<<<2, 32>>>(60);
      }
      EXPECT(cudaErrorAssert, cudaDeviceSynchronize());
    }
    std::_Exit(0);
  }
  close(ends[1]);
  std::string text;
  char piece[512];
  for (ssize_t got; (got = read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, got);
  close(ends[0]);
  int status;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0, "process %d ended with %x: %s", kind,
      status, text.c_str());
  return text;
}

static void require_in(const std::string &text, const char *part) {
  REQUIRE(text.find(part) != std::string::npos, "no '%s' in: %s", part, text.c_str());
}

// Asked in a process of its own, since a process that has used the GPU must not fork.
static bool is_software() {
  pid_t child = fork();
  if (child == 0) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    std::_Exit(std::string(properties.name).find("software") == std::string::npos);
  }
  int status;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child, "no process");
  return status == 0;
}

int main() {
  require_in(errors_of(2, "0"), "Assertion `value < 10` failed");
  std::string four = errors_of(3, "0");
  for (int thread = 28; thread < 32; thread++) {
    std::string place = "block: [1,0,0], thread: [" + std::to_string(thread) + ",0,0] Assertion ";
    require_in(four, (place + "`thread < limit` failed").c_str());
  }
  REQUIRE(std::count(four.begin(), four.end(), '\n') == 4, "not four lines: %s", four.c_str());
  if (!is_software()) return ok("assertions alone: the GPU is not a software one");
  std::string far = errors_of(0, "1");
  require_in(far, "write_at");
  require_in(far, "by block (0,0,0), thread (0,0,0)");
  require_in(far, " bytes behind the allocation of ");
  require_in(errors_of(1, "1"), "2 bytes into the allocation of 256 bytes");
  std::string silent = errors_of(0, "0");
  REQUIRE(silent.empty(), "a report that was not asked for: %s", silent.c_str());
  return ok("4 kinds of faults");
}
