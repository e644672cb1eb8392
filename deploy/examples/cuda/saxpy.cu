// SPDX-License-Identifier: Apache-2.0
// y = a x + y in a grid-stride loop, on float and on vectors of four.
#include "check.h"

__global__ void saxpy(int count, float a, const float *x, float *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    y[i] = fmaf(a, x[i], y[i]);
  }
}

__global__ void saxpy4(int count, float a, const float4 *x, float4 *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float4 u = x[i];
    float4 v = y[i];
    y[i] = make_float4(
        fmaf(a, u.x, v.x), fmaf(a, u.y, v.y), fmaf(a, u.z, v.z), fmaf(a, u.w, v.w));
  }
}

int main() {
  const int count = 1 << 20;
  Numbers numbers(2);
  std::vector<float> x(count), y(count), expected(count);
  for (int i = 0; i < count; i++) {
    x[i] = numbers.unit() - 0.5f;
    y[i] = numbers.unit() * 100;
    expected[i] = std::fma(-3.5f, x[i], std::fma(2.25f, x[i], y[i]));
  }
  float *device_x = device_copy(x);
  float *device_y = device_copy(y);
  saxpy<<<128, 256>>>(count, 2.25f, device_x, device_y);
  launched();
  saxpy4<<<64, 128>>>(count / 4, -3.5f, reinterpret_cast<const float4 *>(device_x),
      reinterpret_cast<float4 *>(device_y));
  launched();
  require_equal(host_copy(device_y, count), expected);
  CHECK(cudaFree(device_x));
  CHECK(cudaFree(device_y));
  return ok("%d elements, scalar and by four", count);
}
