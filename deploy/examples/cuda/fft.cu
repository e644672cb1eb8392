// SPDX-License-Identifier: Apache-2.0
// Fast Fourier transforms in shared memory, by radix 2 and radix 4, against the definition; and back.
#include "check.h"

#include <complex>

const int n = 1024;

__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ float2 operator*(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// exp(sign 2 pi i k / length)
__device__ float2 root(int k, int length, float sign) {
  float s, c;
  sincospif(2.0f * k / length, &s, &c);
  return make_float2(c, sign * s);
}

// Stockham's order: every pass reads one half of shared memory and writes the other, in place of bit reversal.
template <int Radix>
__global__ void transform(const float2 *in, float2 *out, float sign) {
  __shared__ float2 buffers[2][n];
  const float2 *source = in + blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) buffers[0][i] = source[i];
  __syncthreads();
  int current = 0;
  for (int length = 1; length < n; length *= Radix, current ^= 1) {
    const float2 *from = buffers[current];
    float2 *to = buffers[current ^ 1];
    for (int i = threadIdx.x; i < n / Radix; i += blockDim.x) {
      int k = i % length, base = i / length * length * Radix + k;
      float2 v[Radix];
      for (int r = 0; r < Radix; r++) {
        v[r] = from[i + r * (n / Radix)] * root(r * k, length * Radix, sign);
      }
      if (Radix == 2) {
        to[base] = v[0] + v[1];
        to[base + length] = v[0] - v[1];
      } else {
        float2 a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
        d = make_float2(-sign * d.y, sign * d.x);
        to[base] = a + c;
        to[base + length] = b + d;
        to[base + 2 * length] = a - c;
        to[base + 3 * length] = b - d;
      }
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = buffers[current][i];
}

int main() {
  const int batch = 8;
  Numbers numbers(36);
  std::vector<float2> signal(batch * n);
  for (float2 &value : signal) value = make_float2(numbers.unit() - 0.5f, numbers.unit() - 0.5f);
  std::vector<std::complex<double>> roots(n);
  for (int k = 0; k < n; k++) roots[k] = std::polar(1.0, -2 * M_PI * k / n);
  float2 *in = device_copy(signal), *spectrum, *back;
  CHECK(cudaMalloc(&spectrum, batch * n * sizeof(float2)));
  CHECK(cudaMalloc(&back, batch * n * sizeof(float2)));
  for (int radix : {2, 4}) {
    (radix == 2 ? transform<2> : transform<4>)<<<batch, 128>>>(in, spectrum, -1);
    (radix == 2 ? transform<2> : transform<4>)<<<batch, 128>>>(spectrum, back, 1);
    launched();
    std::vector<float2> actual = host_copy(spectrum, batch * n), again = host_copy(back, batch * n);
    for (int b = 0; b < batch; b++) {
      for (int k = b; k < n; k += 16) {
        std::complex<double> sum = 0;
        for (int i = 0; i < n; i++) {
          sum += std::complex<double>(signal[b * n + i].x, signal[b * n + i].y) * roots[i * k % n];
        }
        float2 value = actual[b * n + k];
        REQUIRE(std::abs(sum - std::complex<double>(value.x, value.y)) < 1e-4,
            "radix %d: frequency %d is (%g, %g), not (%g, %g)", radix, k, value.x, value.y,
            sum.real(), sum.imag());
      }
    }
    for (int i = 0; i < batch * n; i++) {
      REQUIRE(std::fabs(again[i].x / n - signal[i].x) < 1e-6 &&
              std::fabs(again[i].y / n - signal[i].y) < 1e-6,
          "radix %d: sample %d comes back as (%g, %g)", radix, i, again[i].x / n, again[i].y / n);
    }
  }
  CHECK(cudaFree(in));
  CHECK(cudaFree(spectrum));
  CHECK(cudaFree(back));
  return ok("%d transforms of %d", batch, n);
}
