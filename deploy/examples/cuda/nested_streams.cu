// SPDX-License-Identifier: Apache-2.0
// The order of launches from kernels: the default stream of a block, streams with events between
// them, launches that are fired and forgotten, and tail launches, which see the results of all.
// nvcc: -rdc=true
#include "check.h"

static const int PARTS = 8;
static const int PART = 500;
static const int ROUNDS = 20;

__global__ void fill(int *data, int count, int factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = i * factor;
}

__global__ void square(int *data, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= data[i] % 7;
}

__global__ void add_up(const int *data, int count, unsigned long long *sum) {
  unsigned long long mine = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) mine += data[i];
  atomicAdd(sum, mine);
}

// Behind everything else: the parts are there, and sum is all of them.
__global__ void check_sum(const int *data, unsigned long long *sum, int *right) {
  unsigned long long expected = 0;
  for (int i = 0; i < PARTS * PART; i++) expected += data[i];
  *right = expected == *sum;
}

// Each block works on its part in its own default stream.
__global__ void parts(int *data, unsigned long long *sum, int *right) {
  int *part = data + blockIdx.x * PART;
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) check_sum<<<1, 1, 0, cudaStreamTailLaunch>>>(data, sum, right);
    fill<<<(PART + 63) / 64, 64>>>(part, PART, blockIdx.x + 1);
    square<<<(PART + 63) / 64, 64>>>(part, PART);
    add_up<<<1, 32>>>(part, PART, sum);
  }
}

// One stream reads the results of another, after it has waited for its event.
__global__ void with_events(int *data, unsigned long long *sum) {
  cudaStream_t first, second;
  cudaEvent_t made;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
  fill<<<(PART + 63) / 64, 64, 0, first>>>(data, PART, 3);
  cudaEventRecord(made, first);
  cudaStreamWaitEvent(second, made, 0);
  add_up<<<1, 64, 0, second>>>(data, PART, sum);
  cudaEventDestroy(made);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

__global__ void relax(const float *from, float *to, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    float left = i > 0 ? from[i - 1] : 1.0f;
    float right = i + 1 < count ? from[i + 1] : 0.0f;
    to[i] = 0.5f * (left + right);
  }
}

// One round, and the next one behind it.
__global__ void rounds(float *from, float *to, int count, int left) {
  relax<<<(count + 63) / 64, 64, 0, cudaStreamFireAndForget>>>(from, to, count);
  if (left > 1) rounds<<<1, 1, 0, cudaStreamTailLaunch>>>(to, from, count, left - 1);
}

int main() {
  int *data = device_copy(std::vector<int>(PARTS * PART));
  unsigned long long *sum = device_copy(std::vector<unsigned long long>{0});
  int *right = device_copy(std::vector<int>{0});
  parts<<<PARTS, 32>>>(data, sum, right);
  launched();
  REQUIRE(host_copy(right, 1)[0] == 1, "the tail launch did not see the results of all others");
  unsigned long long expected = 0;
  for (int part = 0; part < PARTS; part++) {
    for (int i = 0; i < PART; i++) {
      int value = i * (part + 1);
      expected += value * (value % 7);
    }
  }
  REQUIRE(host_copy(sum, 1)[0] == expected, "the sum is %llu, not %llu", host_copy(sum, 1)[0],
      expected);

  CHECK(cudaMemset(sum, 0, sizeof *sum));
  with_events<<<1, 1>>>(data, sum);
  launched();
  expected = 3ull * PART * (PART - 1) / 2;
  REQUIRE(host_copy(sum, 1)[0] == expected, "behind the event it is %llu, not %llu",
      host_copy(sum, 1)[0], expected);

  const int count = 300;
  std::vector<float> now(count), next(count);
  float *from = device_copy(now), *to = device_copy(now);
  rounds<<<1, 1>>>(from, to, count, ROUNDS);
  launched();
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < count; i++) {
      next[i] = 0.5f * ((i > 0 ? now[i - 1] : 1.0f) + (i + 1 < count ? now[i + 1] : 0.0f));
    }
    now.swap(next);
  }
  require_equal(host_copy(ROUNDS % 2 ? to : from, count), now);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  CHECK(cudaFree(right));
  CHECK(cudaFree(sum));
  CHECK(cudaFree(data));
  return ok("%d parts, an event, %d rounds", PARTS, ROUNDS);
}
