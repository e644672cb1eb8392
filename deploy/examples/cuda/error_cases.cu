// SPDX-License-Identifier: Apache-2.0
// Mistakes give CUDA's own errors, leave the program able to go on, and are reported once.
#include "check.h"

__global__ void one(int *value) { *value = 1; }

int main() {
  int *value;
  CHECK(cudaMalloc(&value, sizeof(int)));

  one<<<0, 1>>>(value);
  EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
  one<<<1, 2048>>>(value);
  EXPECT(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
  EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
  CHECK(cudaGetLastError());
  one<<<dim3(1, 70000), 1>>>(value);
  EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());

  size_t free_bytes, total_bytes;
  CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  void *much = &much;
  EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&much, total_bytes + 1));
  EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&much, size_t(1) << 50));
  EXPECT(cudaErrorMemoryAllocation, cudaGetLastError());
  size_t free_after;
  CHECK(cudaMemGetInfo(&free_after, &total_bytes));
  REQUIRE(free_after == free_bytes, "%zu bytes are free, not %zu", free_after, free_bytes);

  EXPECT(cudaErrorInvalidValue, cudaFree(reinterpret_cast<char *>(value) + 1));
  EXPECT(cudaErrorInvalidValue, cudaFree(reinterpret_cast<void *>(0x1230)));
  CHECK(cudaFree(nullptr));
  int host = 5;
  EXPECT(cudaErrorInvalidValue,
      cudaMemcpy(value, &host, size_t(1) << 40, cudaMemcpyHostToDevice));
  EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(&host, value, 4, cudaMemcpyKind(17)));
  EXPECT(cudaErrorInvalidValue, cudaMemset(nullptr, 0, 4));
  cudaGetLastError();
  CHECK(cudaMemcpy(value, &host, 0, cudaMemcpyHostToDevice));

  cudaEvent_t event;
  EXPECT(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x80));
  EXPECT(cudaErrorInvalidValue, cudaEventCreate(nullptr));
  cudaGetLastError();
  REQUIRE(std::strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0,
      "an error has another name");

  one<<<1, 1>>>(value);
  launched();
  REQUIRE(host_copy(value, 1)[0] == 1, "a launch after all these errors did not run");
  CHECK(cudaFree(value));
  return ok("%zu MiB of memory held against too large an allocation", total_bytes >> 20);
}
