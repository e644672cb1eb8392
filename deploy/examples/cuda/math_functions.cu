// SPDX-License-Identifier: Apache-2.0
// CUDA's mathematical functions against the C library, within the errors that CUDA documents.
#include "check.h"

constexpr int FLOATS = 14;
constexpr int DOUBLES = 12;

template <typename T>
__host__ __device__ void singles(T x, T *r) {
  r[0] = sqrtf(x);
  r[1] = 1.0f / x;
  r[2] = expf(x * 0.1f);
  r[3] = logf(x);
  r[4] = sinf(x);
  r[5] = cosf(x);
  r[6] = tanhf(x - 5.0f);
  r[7] = powf(x, 1.7f);
  r[8] = atan2f(x, 3.0f - x);
  r[9] = erff(x - 4.0f);
  r[10] = cbrtf(x);
  r[11] = floorf(x * 1.37f) + ceilf(x * 0.77f) + rintf(x * 2.5f) + truncf(-x);
  r[12] = fmodf(x * 100.0f, 7.5f);
  r[13] = exp2f(x * 0.5f) + log10f(x);
}

__host__ __device__ void doubles(double x, double *r) {
  r[0] = sqrt(x);
  r[1] = 1.0 / x;
  r[2] = exp(x * 0.1);
  r[3] = log(x);
  r[4] = sin(x);
  r[5] = cos(x);
  r[6] = tanh(x - 5.0);
  r[7] = pow(x, 1.7);
  r[8] = atan2(x, 3.0 - x);
  r[9] = erf(x - 4.0);
  r[10] = hypot(x, 2.5);
  r[11] = lgamma(x + 0.5);
}

__global__ void all_singles(const float *x, float *results, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    singles(x[i], results + i * FLOATS);
  }
}

__global__ void all_doubles(const double *x, double *results, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    doubles(x[i], results + i * DOUBLES);
  }
}

int main() {
  const int count = 3000;
  std::vector<float> x(count), expected(count * FLOATS);
  std::vector<double> dx(count), expected_double(count * DOUBLES);
  for (int i = 0; i < count; i++) {
    x[i] = 0.01f + i * 0.0041f;
    dx[i] = 0.01 + i * 0.0041;
    singles(x[i], &expected[i * FLOATS]);
    doubles(dx[i], &expected_double[i * DOUBLES]);
  }
  float *device_x = device_copy(x);
  double *device_dx = device_copy(dx);
  float *results;
  double *results_double;
  CHECK(cudaMalloc(&results, expected.size() * sizeof(float)));
  CHECK(cudaMalloc(&results_double, expected_double.size() * sizeof(double)));
  all_singles<<<(count + 63) / 64, 64>>>(device_x, results, count);
  launched();
  all_doubles<<<(count + 63) / 64, 64>>>(device_dx, results_double, count);
  launched();
  require_close(host_copy(results, expected.size()), expected, 2e-6);
  require_close(host_copy(results_double, expected_double.size()), expected_double, 2e-14);
  std::vector<float> roots = host_copy(results, expected.size());
  for (int i = 0; i < count; i++) {
    REQUIRE(roots[i * FLOATS] == expected[i * FLOATS], "a square root is not rounded right");
    REQUIRE(roots[i * FLOATS + 1] == expected[i * FLOATS + 1], "a division is not rounded right");
  }
  CHECK(cudaFree(device_x));
  CHECK(cudaFree(device_dx));
  CHECK(cudaFree(results));
  CHECK(cudaFree(results_double));
  return ok("%d functions at %d points", FLOATS + DOUBLES, count);
}
