// SPDX-License-Identifier: Apache-2.0
// c = a + b, with a last block that is not full.
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    c[i] = a[i] + b[i];
  }
}

int main() {
  const int count = 1000003;
  Numbers numbers(1);
  std::vector<float> a(count), b(count), expected(count);
  for (int i = 0; i < count; i++) {
    a[i] = numbers.unit();
    b[i] = numbers.unit();
    expected[i] = a[i] + b[i];
  }
  float *device_a = device_copy(a);
  float *device_b = device_copy(b);
  float *device_c;
  CHECK(cudaMalloc(&device_c, count * sizeof(float)));
  add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_c, count);
  launched();
  CHECK(cudaDeviceSynchronize());
  require_equal(host_copy(device_c, count), expected);
  CHECK(cudaFree(device_a));
  CHECK(cudaFree(device_b));
  CHECK(cudaFree(device_c));
  return ok("%d elements", count);
}
