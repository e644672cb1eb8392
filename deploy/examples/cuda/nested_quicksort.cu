// SPDX-License-Identifier: Apache-2.0
// Quicksort whose kernels launch kernels for both halves, each in a stream of its own.
// nvcc: -rdc=true
#include <algorithm>

#include "check.h"

static const int MAX_DEPTH = 16;
static const int SMALL = 24;

__device__ int kernels;

__device__ void selection_sort(int *data, int left, int right) {
  for (int i = left; i <= right; i++) {
    int least = i;
    for (int j = i + 1; j <= right; j++) {
      if (data[j] < data[least]) least = j;
    }
    int value = data[i];
    data[i] = data[least];
    data[least] = value;
  }
}

__global__ void quicksort(int *data, int left, int right, int depth) {
  atomicAdd(&kernels, 1);
  if (depth >= MAX_DEPTH || right - left <= SMALL) {
    selection_sort(data, left, right);
    return;
  }
  int pivot = data[(left + right) / 2], low = left, high = right;
  while (low <= high) {
    while (data[low] < pivot) low++;
    while (data[high] > pivot) high--;
    if (low <= high) {
      int value = data[low];
      data[low++] = data[high];
      data[high--] = value;
    }
  }
  if (left < high) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, stream>>>(data, left, high, depth + 1);
    cudaStreamDestroy(stream);
  }
  if (low < right) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, stream>>>(data, low, right, depth + 1);
    cudaStreamDestroy(stream);
  }
}

int main() {
  const int count = 3000;
  Numbers numbers(7);
  std::vector<int> values(count);
  for (int &value : values) {
    value = numbers.next() % 10000;
  }
  int *data = device_copy(values);
  quicksort<<<1, 1>>>(data, 0, count - 1, 0);
  launched();
  std::vector<int> sorted = host_copy(data, count);
  std::sort(values.begin(), values.end());
  require_equal(sorted, values);
  int used;
  CHECK(cudaMemcpyFromSymbol(&used, kernels, sizeof used));
  REQUIRE(used > 100, "only %d kernels ran", used);
  CHECK(cudaFree(data));
  return ok("%d values by %d kernels", count, used);
}
