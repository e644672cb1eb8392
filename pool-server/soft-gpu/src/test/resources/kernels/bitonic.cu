// SPDX-License-Identifier: Apache-2.0
// Bitonic sort of one block's keys, and one global step for larger arrays.

extern "C" __global__ void sortBlock(int* data) {
  extern __shared__ int keys[];
  int t = threadIdx.x;
  keys[t] = data[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int k = 2; k <= blockDim.x; k <<= 1) {
    for (int j = k >> 1; j > 0; j >>= 1) {
      int other = t ^ j;
      if (other > t) {
        bool up = (t & k) == 0;
        int a = keys[t], b = keys[other];
        if ((a > b) == up) {
          keys[t] = b;
          keys[other] = a;
        }
      }
      __syncthreads();
    }
  }
  data[blockIdx.x * blockDim.x + t] = keys[t];
}

extern "C" __global__ void step(unsigned long long* data, int j, int k) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned other = i ^ j;
  if (other > i) {
    unsigned long long a = data[i], b = data[other];
    if (((i & k) == 0) == (a > b)) {
      data[i] = b;
      data[other] = a;
    }
  }
}
