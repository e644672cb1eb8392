// SPDX-License-Identifier: Apache-2.0
// Memory that two processes share: cudaIpcGetMemHandle, and atomics of both on the same words.
// processes: 2
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

constexpr int count = 200'000, rounds = 20;

struct Handles {
  cudaIpcMemHandle_t values, counters, forged;
};

__global__ void fill(int *values, int n, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    values[i] = first + i;
  }
}

__global__ void add(int *values, int n, int amount, unsigned *counter) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(values + i, amount);
    atomicAdd(counter, 1u);
  }
}

static void tell(int pipe, const void *what, size_t bytes) {
  REQUIRE(write(pipe, what, bytes) == (ssize_t)bytes, "cannot tell %zu bytes", bytes);
}

static void hear(int pipe, void *what, size_t bytes) {
  REQUIRE(read(pipe, what, bytes) == (ssize_t)bytes, "cannot hear %zu bytes", bytes);
}

static void add_rounds(int *values, unsigned *counter, int amount) {
  for (int round = 0; round < rounds; round++) {
    add<<<(count + 255) / 256, 256>>>(values, count, amount, counter);
  }
  launched();
  CHECK(cudaDeviceSynchronize());
}

// Changes shared memory while the parent changes it, and reads it after the parent has freed it.
static int child(int from_parent, int to_parent) {
  Handles handles;
  char word = 'c';
  hear(from_parent, &handles, sizeof handles);
  size_t free_before, free_after, total;
  CHECK(cudaMemGetInfo(&free_before, &total));
  int *values, *again;
  unsigned *counters;
  CHECK(cudaIpcOpenMemHandle((void **)&values, handles.values, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaIpcOpenMemHandle((void **)&counters, handles.counters, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaMemGetInfo(&free_after, &total));
  REQUIRE(free_before == free_after, "opened memory counts %zu bytes", free_before - free_after);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, values));
  REQUIRE(attributes.type == cudaMemoryTypeDevice, "it is of type %d", attributes.type);
  void *forged;
  cudaError_t error =
      cudaIpcOpenMemHandle(&forged, handles.forged, cudaIpcMemLazyEnablePeerAccess);
  REQUIRE(error != cudaSuccess, "a forged handle was opened");
  cudaGetLastError();
  std::vector<int> expected(count);
  for (int i = 0; i < count; i++) {
    expected[i] = 7 + i;
  }
  require_equal(host_copy(values, count), expected);
  tell(to_parent, &word, 1);
  add_rounds(values, counters + 1, 3);
  tell(to_parent, &word, 1);

  // The parent looks at the sums, frees its memory, and allocates more.
  hear(from_parent, &word, 1);
  for (int &value : expected) {
    value += 8 * rounds;
  }
  require_equal(host_copy(values, count), expected);
  error = cudaIpcOpenMemHandle((void **)&again, handles.values, cudaIpcMemLazyEnablePeerAccess);
  REQUIRE(error == cudaSuccess && again == values, "what is open cannot be opened again");
  CHECK(cudaIpcCloseMemHandle(again));
  require_equal(host_copy(values, count), expected);
  CHECK(cudaIpcCloseMemHandle(values));
  error = cudaIpcOpenMemHandle((void **)&again, handles.values, cudaIpcMemLazyEnablePeerAccess);
  REQUIRE(error != cudaSuccess, "freed memory was opened");
  cudaGetLastError();
  CHECK(cudaIpcCloseMemHandle(counters));
  error = cudaIpcCloseMemHandle(counters);
  REQUIRE(error == cudaErrorInvalidValue, "closed twice: %d", error);
  return 0;
}

static void parent(int from_child, int to_child) {
  int *values;
  unsigned *counters, *beside;
  CHECK(cudaMalloc(&beside, 512));
  CHECK(cudaMalloc(&counters, 2 * sizeof(unsigned)));
  CHECK(cudaMalloc(&values, count * sizeof(int)));
  CHECK(cudaMemset(beside, 0x5a, 512));
  CHECK(cudaMemset(counters, 0, 2 * sizeof(unsigned)));
  fill<<<(count + 255) / 256, 256>>>(values, count, 7);
  launched();
  Handles handles;
  CHECK(cudaIpcGetMemHandle(&handles.values, values));
  CHECK(cudaIpcGetMemHandle(&handles.counters, counters));
  cudaIpcMemHandle_t same;
  CHECK(cudaIpcGetMemHandle(&same, values));
  REQUIRE(memcmp(&same, &handles.values, sizeof same) == 0, "one allocation has two handles");
  handles.forged = handles.values;
  handles.forged.reserved[5] ^= 1;
  void *own;
  REQUIRE(cudaIpcOpenMemHandle(&own, handles.values, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess,
      "a process has opened its own handle");
  cudaGetLastError();
  size_t free_before, free_after, total;
  CHECK(cudaMemGetInfo(&free_before, &total));
  tell(to_child, &handles, sizeof handles);
  char word;
  hear(from_child, &word, 1);
  add_rounds(values, counters, 5);
  hear(from_child, &word, 1);
  std::vector<int> expected(count);
  for (int i = 0; i < count; i++) {
    expected[i] = 7 + i + 8 * rounds;
  }
  require_equal(host_copy(values, count), expected);
  require_equal(host_copy(counters, 2), std::vector<unsigned>(2, (unsigned)count * rounds));
  require_equal(host_copy(beside, 128), std::vector<unsigned>(128, 0x5a5a5a5a));
  CHECK(cudaFree(values));
  int *other;
  CHECK(cudaMalloc(&other, count * sizeof(int)));
  CHECK(cudaMemset(other, 0, count * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  tell(to_child, &word, 1);
  int status;
  REQUIRE(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x",
      status);
  CHECK(cudaFree(other));
  CHECK(cudaMemGetInfo(&free_after, &total));
  REQUIRE(free_after >= free_before + count * sizeof(int), "freed memory still counts: %zu of %zu",
      free_after, free_before);
  CHECK(cudaFree(counters));
  CHECK(cudaFree(beside));
}

int main() {
  int down[2], up[2];
  REQUIRE(pipe(down) == 0 && pipe(up) == 0, "no pipes");
  // Before either uses CUDA: a context is no child's.
  if (fork() == 0) {
    std::exit(child(down[0], up[1]));
  }
  parent(up[0], down[1]);
  return ok("two processes, %d atomics each on the same %d words", count * rounds, count);
}
