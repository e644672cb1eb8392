// SPDX-License-Identifier: Apache-2.0
// Parameters in one packed block that ends early: a kernel has room for a table of 4,000 bytes, and is
// given the part of it that it reads, as NCCL does; launched, and captured into a graph.
#include "driver_entry.h"

constexpr int kRoom = 1000, kUsed = 10, kLaunches = 5;

struct Table {
  int *sums;
  int used, factor;
  int numbers[kRoom - 4];
};

static_assert(sizeof(Table) == kRoom * sizeof(int), "");

__global__ void sum(const __grid_constant__ Table table) {
  int total = 0;
  for (int i = 0; i < table.used; i++) total += table.numbers[i];
  atomicAdd(table.sums, total * table.factor);
}

int main() {
  auto *launch = ENTRY(cuLaunchKernel);
  cudaFunction_t kernel;
  cudaStream_t stream;
  Table table = {};
  CHECK(cudaGetFuncBySymbol(&kernel, (const void *)sum));
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&table.sums, sizeof(int)));
  CHECK(cudaMemset(table.sums, 0, sizeof(int)));
  table.used = kUsed;
  table.factor = 1;
  int expected = 0;
  for (int i = 0; i < kUsed; i++) table.numbers[i] = i * i - 7;
  for (int i = 0; i < kUsed; i++) expected += table.numbers[i];
  for (int i = kUsed; i < kRoom - 4; i++) table.numbers[i] = 1 << 20;

  size_t bytes = offsetof(Table, numbers) + kUsed * sizeof(int);
  void *packed[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &table, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  for (int i = 0; i < kLaunches; i++) DRIVER(launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, packed));

  cudaGraph_t graph;
  cudaGraphExec_t executable;
  table.factor = 100;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  DRIVER(launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, packed));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, stream));

  bytes = sizeof table;
  table.factor = 10000;
  DRIVER(launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, packed));
  CHECK(cudaStreamSynchronize(stream));
  int total;
  CHECK(cudaMemcpy(&total, table.sums, sizeof total, cudaMemcpyDeviceToHost));
  expected *= kLaunches + 100 + 10000;
  REQUIRE(total == expected, "the sum is %d, not %d", total, expected);
  return ok("sum %d", total);
}
