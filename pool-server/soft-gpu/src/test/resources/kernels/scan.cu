// SPDX-License-Identifier: Apache-2.0
// Prefix sums.

extern "C" __global__ void inclusiveBlock(const int* in, int* out, int* totals, int n) {
  __shared__ int warpTotals[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int v = i < n ? in[i] : 0;
  for (int d = 1; d < 32; d <<= 1) {
    int u = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d) v += u;
  }
  if (lane == 31) warpTotals[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int t = lane < blockDim.x / 32 ? warpTotals[lane] : 0;
    for (int d = 1; d < 32; d <<= 1) {
      int u = __shfl_up_sync(0xffffffffu, t, d);
      if (lane >= d) t += u;
    }
    warpTotals[lane] = t;
  }
  __syncthreads();
  if (warp > 0) v += warpTotals[warp - 1];
  if (i < n) out[i] = v;
  if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = v;
}

extern "C" __global__ void addOffsets(int* data, const int* totals, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && blockIdx.x > 0) data[i] += totals[blockIdx.x - 1];
}

// One pass: each block waits for its predecessor's published prefix.
extern "C" __global__ void chained(const int* in, int* out, volatile int* prefix,
                                   volatile int* ready, unsigned* ticket, int n) {
  __shared__ int data[256];
  __shared__ unsigned block;
  __shared__ int before;
  if (threadIdx.x == 0) block = atomicAdd(ticket, 1u);
  __syncthreads();
  int i = block * 256 + threadIdx.x;
  data[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d <<= 1) {
    int v = threadIdx.x >= d ? data[threadIdx.x - d] : 0;
    __syncthreads();
    data[threadIdx.x] += v;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    int sum = 0;
    if (block > 0) {
      while (ready[block - 1] == 0) {
      }
      __threadfence();
      sum = prefix[block - 1];
    }
    prefix[block] = sum + data[255];
    __threadfence();
    ready[block] = 1;
    before = sum;
  }
  __syncthreads();
  if (i < n) out[i] = data[threadIdx.x] + before;
}
