// SPDX-License-Identifier: Apache-2.0
// Parameters of every shape: structs by value, odd sizes, alignments, arrays, cudaLaunchKernel(Ex).
#include "check.h"

struct Three {
  char bytes[3];
};

struct Inner {
  double weight;
  short code;
};

struct Mixed {
  char tag;
  Inner inner[2];
  float4 vector;
  Three three;
};

struct Large {
  int values[900];
};

__global__ void mixed(
    char c, Three three, double d, short s, Mixed m, bool flag, const Large large, long long *out) {
  int i = threadIdx.x;
  long long sum = c + three.bytes[0] + 10 * three.bytes[1] + 100 * three.bytes[2];
  sum += static_cast<long long>(d * 8) + s + m.tag + m.inner[i % 2].code;
  sum += static_cast<long long>(m.inner[i % 2].weight);
  sum += static_cast<long long>(m.vector.x + m.vector.y + m.vector.z + m.vector.w);
  sum += m.three.bytes[i % 3] + (flag ? 1000000 : 0) + large.values[i * 28];
  out[i] = sum;
}

int main() {
  const int threads = 32;
  Three three = {{1, 2, 3}};
  Mixed m = {'m', {{1e6, 5}, {2e6, -5}}, make_float4(1, 2, 3, 4), {{7, 8, 9}}};
  Large large;
  for (int i = 0; i < 900; i++) {
    large.values[i] = i * i;
  }
  std::vector<long long> expected(threads);
  for (int i = 0; i < threads; i++) {
    expected[i] = -4 + 1 + 20 + 300 + 22 - 300 + 'm' + m.inner[i % 2].code
        + static_cast<long long>(m.inner[i % 2].weight) + 10 + m.three.bytes[i % 3] + 1000000
        + large.values[i * 28];
  }
  long long *out;
  CHECK(cudaMalloc(&out, threads * sizeof(long long)));
  mixed<<<1, threads>>>(-4, three, 2.75, -300, m, true, large, out);
  launched();
  require_equal(host_copy(out, threads), expected);

  CHECK(cudaMemset(out, 0, threads * sizeof(long long)));
  char c = -4;
  double d = 2.75;
  short s = -300;
  bool flag = true;
  void *arguments[] = {&c, &three, &d, &s, &m, &flag, &large, &out};
  CHECK(cudaLaunchKernel(reinterpret_cast<const void *>(mixed), dim3(1), dim3(threads), arguments,
      0, nullptr));
  require_equal(host_copy(out, threads), expected);

  CHECK(cudaMemset(out, 0, threads * sizeof(long long)));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(threads);
  CHECK(cudaLaunchKernelEx(&config, mixed, c, three, d, s, m, flag, large, out));
  require_equal(host_copy(out, threads), expected);
  CHECK(cudaFree(out));
  return ok("%zu bytes of parameters, three ways to launch", sizeof(Large) + sizeof(Mixed) + 40);
}
