// SPDX-License-Identifier: Apache-2.0
// printf in a kernel reaches the program's standard output by the next synchronization.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "check.h"

__global__ void speak(const char *who, double scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 3 == 0) {
    printf("%s %d of %u: %.3f %c %lld 0x%x %5.1e%%\n", who, i, gridDim.x * blockDim.x, i * scale,
        'a' + i % 26, 10000000000LL + i, i * 255, i * 1000.0);
  }
}

int main() {
  const int blocks = 3, threads = 40;
  FILE *captured = std::tmpfile();
  REQUIRE(captured != nullptr, "no temporary file");
  char *who;
  CHECK(cudaMalloc(&who, 16));
  CHECK(cudaMemcpy(who, "thread", 7, cudaMemcpyHostToDevice));
  std::fflush(stdout);
  int output = dup(STDOUT_FILENO);
  dup2(fileno(captured), STDOUT_FILENO);
  speak<<<blocks, threads>>>(who, 0.5);
  cudaError_t error = cudaDeviceSynchronize();
  std::fflush(stdout);
  dup2(output, STDOUT_FILENO);
  CHECK(error);
  std::rewind(captured);
  std::vector<std::string> lines, expected;
  char line[256];
  while (std::fgets(line, sizeof line, captured) != nullptr) {
    lines.push_back(line);
  }
  for (int i = 0; i < blocks * threads; i += 3) {
    std::snprintf(line, sizeof line, "%s %d of %u: %.3f %c %lld 0x%x %5.1e%%\n", "thread", i,
        unsigned(blocks * threads), i * 0.5, 'a' + i % 26, 10000000000LL + i, i * 255, i * 1000.0);
    expected.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  std::sort(expected.begin(), expected.end());
  REQUIRE(lines.size() == expected.size(), "%zu lines, not %zu", lines.size(), expected.size());
  for (size_t i = 0; i < lines.size(); i++) {
    REQUIRE(lines[i] == expected[i], "%s is not %s", lines[i].c_str(), expected[i].c_str());
  }
  CHECK(cudaFree(who));
  return ok("%zu lines", lines.size());
}
