// SPDX-License-Identifier: Apache-2.0
// Source of the images beside it; see make-images for how they were made.
__device__ int counter = 7;
__constant__ float table[4] = {1.5f, 2.5f, 3.5f, 4.5f};
__device__ int *pointer = &counter;
__device__ int *second = (int *)&table[1];

extern "C" __global__ void scale(float *data, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    data[i] = data[i] * factor + table[i & 3];
  }
}

struct Odd {
  char c;
  double d;
};

extern "C" __global__ void __launch_bounds__(128) count(int *out, Odd odd, char c) {
  __shared__ int cells[32];
  cells[threadIdx.x & 31] = c + (int)odd.d;
  __syncthreads();
  *out = atomicAdd(pointer, 1) + cells[3];
}
