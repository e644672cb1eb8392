// SPDX-License-Identifier: Apache-2.0
// Copies between GPUs, and kernels that reach the memory of another GPU.
// gpus: 2
#include "check.h"

__global__ void scale(const int *from, int *to, int count, int factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    to[i] = from[i] * factor;
  }
}

static const int count = 300000;

static void check_values(const int *device, int factor, const char *what) {
  std::vector<int> values = host_copy(device, count);
  for (int i = 0; i < count; i++) {
    REQUIRE(values[i] == factor * i, "%s: element %d is %d", what, i, values[i]);
  }
}

int main() {
  int devices = 0, reaches = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    return ok("there is one GPU");
  }
  std::vector<int> numbers(count);
  for (int i = 0; i < count; i++) {
    numbers[i] = i;
  }
  CHECK(cudaSetDevice(1));
  int *there = device_copy(numbers);
  CHECK(cudaSetDevice(0));
  int *here = device_copy(numbers);
  CHECK(cudaMemset(here, 0, count * sizeof(int)));
  CHECK(cudaMemcpyPeer(here, 0, there, 1, count * sizeof(int)));
  check_values(here, 1, "copied by cudaMemcpyPeer");
  CHECK(cudaMemset(here, 0, count * sizeof(int)));
  CHECK(cudaMemcpyAsync(here, there, count * sizeof(int), cudaMemcpyDefault, 0));
  check_values(here, 1, "copied by cudaMemcpy");

  CHECK(cudaDeviceCanAccessPeer(&reaches, 0, 0));
  REQUIRE(!reaches, "a GPU is a peer of itself");
  CHECK(cudaDeviceCanAccessPeer(&reaches, 0, 1));
  if (!reaches) {
    return ok("copies between %d GPUs, which do not reach each other's memory", devices);
  }
  EXPECT(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
  cudaGetLastError();
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
  cudaGetLastError();
  scale<<<(count + 255) / 256, 256>>>(there, here, count, 3);
  launched();
  check_values(here, 3, "read from the other GPU");
  scale<<<(count + 255) / 256, 256>>>(here, there, count, 2);
  launched();
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(1));
  check_values(there, 6, "written to the other GPU");

  // Managed memory is everybody's.
  int *shared;
  CHECK(cudaMallocManaged(&shared, count * sizeof(int)));
  for (int i = 0; i < count; i++) {
    shared[i] = i;
  }
  for (int device = 0; device < 2; device++) {
    CHECK(cudaSetDevice(device));
    scale<<<(count + 255) / 256, 256>>>(shared, shared, count, 5);
    launched();
    CHECK(cudaDeviceSynchronize());
  }
  for (int i = 0; i < count; i++) {
    REQUIRE(shared[i] == 25 * i, "managed element %d is %d", i, shared[i]);
  }
  CHECK(cudaFree(shared));
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceDisablePeerAccess(1));
  CHECK(cudaFree(here));
  CHECK(cudaFree(there));
  return ok("copies, kernels and managed memory across %d GPUs", devices);
}
