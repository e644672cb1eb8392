// SPDX-License-Identifier: Apache-2.0
// Source of kernels.ptx, which "make ptx" writes where there is nvcc.
extern "C" __global__ void add(const float *a, const float *b, float *c, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    c[i] = a[i] + b[i];
  }
}

extern "C" __global__ void store(int *value, int round) { *value = round; }

extern "C" __global__ void increment(int *values, int count, int amount, unsigned *launches) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    values[i] += amount;
  }
  if (i == 0) {
    atomicAdd(launches, 1u);
  }
}

extern "C" __global__ void write_at(int *values, long long distance) { values[distance] = 1; }

extern "C" __global__ void sum(const int *values, int count, unsigned long long *total) {
  __shared__ unsigned long long sums[8];
  unsigned long long own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    own += static_cast<unsigned long long>(values[i]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    own += __shfl_down_sync(0xffffffffu, own, offset);
  }
  if (threadIdx.x % 32 == 0) {
    sums[threadIdx.x / 32] = own;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < blockDim.x / 32; warp++) {
      own += sums[warp];
    }
    atomicAdd(total, own);
  }
}

extern "C" __global__ void spin(long long rounds, unsigned *result) {
  unsigned value = *result;
  for (long long i = 0; i < rounds; i++) {
    value = value * 1664525u + 1013904223u;
  }
  *result = value;
}
