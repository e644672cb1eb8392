// SPDX-License-Identifier: Apache-2.0
// Sums, minimum and maximum: shuffles in a warp, shared memory in a block, atomics over the grid.
#include "check.h"

struct Result {
  unsigned long long sum;
  int minimum;
  int maximum;
  float quarters;
  unsigned int arrived;
};

__device__ unsigned long long warp_sum(unsigned long long value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

__device__ int warp_minimum(int value) {
  for (int mask = 16; mask > 0; mask /= 2) {
    value = min(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  return value;
}

__global__ void reduce(const int *values, int count, Result *result) {
  __shared__ unsigned long long sums[32];
  __shared__ int minima[32];
  __shared__ int maxima[32];
  unsigned long long sum = 0;
  int minimum = 0x7fffffff;
  int maximum = -0x7fffffff - 1;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    int value = values[i];
    sum += static_cast<unsigned long long>(static_cast<long long>(value));
    minimum = min(minimum, value);
    maximum = max(maximum, value);
  }
  int lane = threadIdx.x % 32;
  int warp = threadIdx.x / 32;
  sum = warp_sum(sum);
  minimum = warp_minimum(minimum);
  maximum = -1 - warp_minimum(-1 - maximum);
  if (lane == 0) {
    sums[warp] = sum;
    minima[warp] = minimum;
    maxima[warp] = maximum;
  }
  __syncthreads();
  if (warp == 0) {
    bool present = lane < blockDim.x / 32;
    sum = warp_sum(present ? sums[lane] : 0);
    minimum = warp_minimum(present ? minima[lane] : 0x7fffffff);
    maximum = -1 - warp_minimum(-1 - (present ? maxima[lane] : -0x7fffffff - 1));
    if (lane == 0) {
      atomicAdd(&result->sum, sum);
      atomicMin(&result->minimum, minimum);
      atomicMax(&result->maximum, maximum);
      atomicAdd(&result->quarters, 0.25f);
      atomicInc(&result->arrived, 0xffffffffu);
    }
  }
}

int main() {
  const int count = 500009;
  const int blocks = 60;
  Numbers numbers(4);
  std::vector<int> values(count);
  long long sum = 0;
  int minimum = 0x7fffffff, maximum = -0x7fffffff - 1;
  for (int &value : values) {
    value = static_cast<int>(numbers.next());
    sum += value;
    minimum = value < minimum ? value : minimum;
    maximum = value > maximum ? value : maximum;
  }
  int *device_values = device_copy(values);
  Result *device_result = device_copy(
      std::vector<Result>{{0, 0x7fffffff, -0x7fffffff - 1, 0.0f, 0}});
  reduce<<<blocks, 256>>>(device_values, count, device_result);
  launched();
  Result result = host_copy(device_result, 1)[0];
  REQUIRE(static_cast<long long>(result.sum) == sum, "sum %lld, not %lld",
      static_cast<long long>(result.sum), sum);
  REQUIRE(result.minimum == minimum, "minimum %d, not %d", result.minimum, minimum);
  REQUIRE(result.maximum == maximum, "maximum %d, not %d", result.maximum, maximum);
  REQUIRE(result.quarters == 0.25f * blocks, "float atomics give %g", result.quarters);
  REQUIRE(result.arrived == blocks, "%u blocks arrived", result.arrived);
  CHECK(cudaFree(device_values));
  CHECK(cudaFree(device_result));
  return ok("sum %lld, minimum %d, maximum %d", sum, minimum, maximum);
}
