// SPDX-License-Identifier: Apache-2.0
// Limits of launches by kernels: their queries and copies, depth and number of launches, graphs with
// kernels that launch, and the fault of a launched kernel.
// nvcc: -rdc=true
#include "check.h"

__global__ void set(int *at, int value) { *at = value; }

__global__ void hold(volatile int *flag) {
  while (*flag == 0) {
  }
}

__global__ void deep(int *depth, int *error, int level) {
  *depth = level;
  deep<<<1, 1>>>(depth, error, level + 1);
  cudaError_t last = cudaGetLastError();
  if (last != cudaSuccess) *error = last;
}

__global__ void many(int *flag, int *out, int *counts) {
  hold<<<1, 1>>>(flag);
  int launches = 0;
  cudaError_t error = cudaSuccess;
  while (error == cudaSuccess && launches < 10000) {
    set<<<1, 1>>>(out, launches);
    error = cudaGetLastError();
    launches += error == cudaSuccess;
  }
  counts[0] = launches;
  counts[1] = error;
  *(volatile int *)flag = 1;
}

struct Answers {
  int device, devices, warp, attributes, threads, blocks, error, cleared, allocated;
  size_t limit;
  char name[40];
};

__global__ void ask(Answers *answers) {
  cudaGetDevice(&answers->device);
  cudaGetDeviceCount(&answers->devices);
  cudaDeviceGetAttribute(&answers->warp, cudaDevAttrWarpSize, answers->device);
  cudaFuncAttributes attributes;
  answers->attributes = cudaFuncGetAttributes(&attributes, (const void *)set);
  answers->threads = attributes.maxThreadsPerBlock;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&answers->blocks, set, 128, 0);
  set<<<1, 2000>>>(&answers->error, 1);
  answers->error = cudaPeekAtLastError();
  const char *name = cudaGetErrorName(cudaGetLastError());
  int i = 0;
  do {
    answers->name[i] = name[i];
  } while (name[i++] != 0);
  answers->cleared = cudaGetLastError();
  void *memory;
  answers->allocated = cudaMalloc(&memory, 1000) == cudaSuccess && memory != nullptr;
  cudaFree(memory);
  cudaDeviceGetLimit(&answers->limit, cudaLimitDevRuntimePendingLaunchCount);
}

// Rows of 24 bytes in a pitch of 40: filled, then copied to rows in a pitch of 32.
__global__ void transfer(unsigned char *from, unsigned char *to) {
  cudaMemset2DAsync(from, 40, 0x5C, 24, 10, 0);
  cudaMemsetAsync(from + 4, 0x11, 3, 0);
  cudaMemcpy2DAsync(to, 32, from, 40, 24, 10, cudaMemcpyDeviceToDevice, 0);
  cudaMemcpyAsync(to + 320, from + 1, 100, cudaMemcpyDefault, 0);
}

__global__ void add(int *at, int value) { atomicAdd(at, value); }

__global__ void adds(int *at, int value) {
  add<<<2, 8>>>(at, value);
  add<<<1, 4, 0, cudaStreamTailLaunch>>>(at, value * 100);
}

__global__ void breaks() { set<<<1, 1>>>((int *)0x40, 1); }

int main() {
  int *words = device_copy(std::vector<int>(8));
  deep<<<1, 1>>>(words, words + 1, 0);
  launched();
  std::vector<int> result = host_copy(words, 2);
  REQUIRE(result[0] == 24 && result[1] == cudaErrorLaunchMaxDepthExceeded,
      "%d deep, then error %d", result[0], result[1]);

  size_t limit = 0;
  CHECK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 50));
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount));
  CHECK(cudaMemset(words, 0, 8 * sizeof *words));
  many<<<1, 1>>>(words, words + 1, words + 2);
  launched();
  result = host_copy(words, 4);
  REQUIRE(limit == 50 && result[2] == 50 && result[1] == 49, "%d launches were pending, last %d",
      result[2], result[1]);
  REQUIRE(result[3] == cudaErrorLaunchPendingCountExceeded, "the next gives %d", result[3]);

  Answers *answers = device_copy(std::vector<Answers>(1));
  ask<<<1, 1>>>(answers);
  launched();
  Answers told = host_copy(answers, 1)[0];
  int devices, blocks;
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, set, 128, 0));
  REQUIRE(told.device == 0 && told.devices == devices && told.warp == 32, "device %d of %d",
      told.device, told.devices);
  REQUIRE(told.attributes == 0 && told.threads == 1024 && told.blocks == blocks,
      "attributes %d: %d threads, %d blocks", told.attributes, told.threads, told.blocks);
  REQUIRE(told.error == cudaErrorInvalidConfiguration && told.cleared == 0
          && std::strcmp(told.name, "cudaErrorInvalidConfiguration") == 0,
      "error %d, %s, %d", told.error, told.name, told.cleared);
  REQUIRE(told.allocated && told.limit == 50, "limit %zu", told.limit);

  unsigned char *from = device_copy(std::vector<unsigned char>(400));
  unsigned char *to = device_copy(std::vector<unsigned char>(500));
  transfer<<<1, 1>>>(from, to);
  launched();
  std::vector<unsigned char> source(400), target(500);
  for (int row = 0; row < 10; row++) {
    std::memset(&source[row * 40], 0x5C, 24);
  }
  std::memset(&source[4], 0x11, 3);
  for (int row = 0; row < 10; row++) {
    std::memcpy(&target[row * 32], &source[row * 40], 24);
  }
  std::memcpy(&target[320], &source[1], 100);
  require_equal(host_copy(from, 400), source);
  require_equal(host_copy(to, 500), target);

  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t launch;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMemset(words, 0, 8 * sizeof *words));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  adds<<<1, 1, 0, stream>>>(words, 1);
  CHECK(cudaMemcpyAsync(words + 1, words, sizeof *words, cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&launch, graph, 0));
  for (int round = 0; round < 5; round++) {
    CHECK(cudaGraphLaunch(launch, stream));
  }
  CHECK(cudaStreamSynchronize(stream));
  result = host_copy(words, 2);
  REQUIRE(result[0] == 5 * 416 && result[1] == 5 * 416, "in a graph %d, copied %d", result[0],
      result[1]);

  breaks<<<1, 1>>>();
  EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
  return ok("24 deep, %zu pending", limit);
}
