// SPDX-License-Identifier: Apache-2.0
// Kernels that allocate: malloc and free, operator new, memory that outlives its kernel, a full heap.
#include "check.h"

struct Node {
  int value;
  Node *next;

  __device__ Node(int value, Node *next) : value(value), next(next) {}
};

struct Base {
  __device__ virtual ~Base() {}
  __device__ virtual int twice() const = 0;
};

struct Number : Base {
  int value;

  __device__ explicit Number(int value) : value(value) {}
  __device__ int twice() const override { return 2 * value; }
};

__global__ void lists(int *sums, int length) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  Node *head = nullptr;
  for (int i = 0; i < length; i++) {
    head = new Node(thread + i, head);
  }
  int sum = 0;
  while (head) {
    Node *next = head->next;
    sum += head->value;
    delete head;
    head = next;
  }
  Base *number = new Number(sum);
  sums[thread] = number->twice();
  delete number;
}

__global__ void keep(int **places, int words) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int *mine = static_cast<int *>(malloc(words * sizeof(int)));
  for (int i = 0; mine && i < words; i++) {
    mine[i] = thread * words + i;
  }
  places[thread] = mine;
}

__global__ void use(int **places, int words, int *wrong) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int *mine = places[thread];
  for (int i = 0; i < words; i++) {
    if (!mine || mine[i] != thread * words + i) {
      atomicAdd(wrong, 1);
    }
  }
  free(mine);
}

__global__ void exhaust(size_t bytes, int *given, int *refused) {
  void *piece = malloc(bytes);
  atomicAdd(piece ? given : refused, 1);
  free(piece);
}

__global__ void hold(size_t bytes, int *given) {
  // Nobody gives back before all have asked.
  void *piece = malloc(bytes);
  if (piece) {
    atomicAdd(given, 1);
  }
  __syncthreads();
  free(piece);
}

int main() {
  const int blocks = 8, threads = 64, count = blocks * threads, length = 20, words = 33;
  const size_t heap = size_t(16) << 20;
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, heap));
  size_t limit;
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  REQUIRE(limit >= heap, "the heap has %zu bytes", limit);

  int *sums;
  CHECK(cudaMalloc(&sums, count * sizeof(int)));
  lists<<<blocks, threads>>>(sums, length);
  launched();
  std::vector<int> expected(count);
  for (int i = 0; i < count; i++) {
    expected[i] = 2 * (length * i + length * (length - 1) / 2);
  }
  require_equal(host_copy(sums, count), expected);

  int **places;
  int *counters;
  CHECK(cudaMalloc(&places, count * sizeof(int *)));
  CHECK(cudaMalloc(&counters, 3 * sizeof(int)));
  CHECK(cudaMemset(counters, 0, 3 * sizeof(int)));
  keep<<<blocks, threads>>>(places, words);
  launched();
  use<<<blocks, threads>>>(places, words, counters);
  launched();
  REQUIRE(host_copy(counters, 1)[0] == 0, "%d words were not kept", host_copy(counters, 1)[0]);

  exhaust<<<1, 1>>>(heap * 64, counters + 1, counters + 2);
  launched();
  std::vector<int> counted = host_copy(counters, 3);
  REQUIRE(counted[1] == 0 && counted[2] == 1, "more was given than there is");
  CHECK(cudaMemset(counters, 0, 3 * sizeof(int)));
  hold<<<1, threads>>>(size_t(1) << 20, counters);
  launched();
  int given = host_copy(counters, 1)[0];
  REQUIRE(given >= 8 && given <= 16, "%d pieces of a MiB came out of 16 MiB", given);
  EXPECT(cudaErrorInvalidValue, cudaDeviceSetLimit(cudaLimitMallocHeapSize, heap * 2));
  CHECK(cudaFree(sums));
  CHECK(cudaFree(places));
  CHECK(cudaFree(counters));
  return ok("%d threads allocated, %d pieces of a MiB fit", count, given);
}
