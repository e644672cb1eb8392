// SPDX-License-Identifier: Apache-2.0
// Function attributes, and dynamic shared memory beyond 48 KiB, which a kernel must ask for.
#include "check.h"

__global__ void reverse(const int *input, int *output, int count) {
  extern __shared__ int buffer[];
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    buffer[i] = input[i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    output[i] = buffer[count - 1 - i];
  }
}

__global__ void __launch_bounds__(128) bounded(float *values) {
  __shared__ double sums[100];
  float local[40];
  for (int i = 0; i < 40; i++) {
    local[i] = values[i] * i;
  }
  sums[threadIdx.x % 100] = local[int(values[0]) % 40];
  __syncthreads();
  values[threadIdx.x] = static_cast<float>(sums[99 - threadIdx.x % 100]);
}

int main() {
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, bounded));
  REQUIRE(attributes.sharedSizeBytes == 800, "%zu bytes of static shared memory",
      attributes.sharedSizeBytes);
  REQUIRE(attributes.maxThreadsPerBlock == 128, "at most %d threads", attributes.maxThreadsPerBlock);

  const int count = 15000;  // 60,000 bytes
  const size_t bytes = count * sizeof(int);
  std::vector<int> input(count), expected(count);
  for (int i = 0; i < count; i++) {
    input[i] = i * 7;
    expected[count - 1 - i] = input[i];
  }
  int *device_input = device_copy(input);
  int *device_output;
  CHECK(cudaMalloc(&device_output, bytes));

  reverse<<<1, 256, bytes>>>(device_input, device_output, count);
  EXPECT(cudaErrorInvalidValue, cudaGetLastError());

  int optin;
  CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  REQUIRE(optin >= int(bytes), "the device gives a block at most %d bytes", optin);
  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
  CHECK(cudaFuncGetAttributes(&attributes, reverse));
  REQUIRE(attributes.maxDynamicSharedSizeBytes == int(bytes), "the attribute reads %d",
      attributes.maxDynamicSharedSizeBytes);
  reverse<<<1, 256, bytes>>>(device_input, device_output, count);
  launched();
  require_equal(host_copy(device_output, count), expected);
  EXPECT(cudaErrorInvalidValue,
      cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, optin + 1));
  CHECK(cudaFree(device_input));
  CHECK(cudaFree(device_output));
  return ok("%zu bytes of dynamic shared memory", bytes);
}
