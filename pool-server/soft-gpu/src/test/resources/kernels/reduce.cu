// SPDX-License-Identifier: Apache-2.0
// Sums by warp shuffles, shared memory and atomics.

__inline__ __device__ int warpSum(int v) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(0xffffffffu, v, offset);
  return v;
}

extern "C" __global__ void sumInts(const int* in, int* out, int n) {
  __shared__ int partial[32];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += in[i];
  }
  sum = warpSum(sum);
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < (blockDim.x + 31) / 32 ? partial[lane] : 0;
    sum = warpSum(sum);
    if (lane == 0) atomicAdd(out, sum);
  }
}

extern "C" __global__ void sumDoubles(const double* in, double* out, int n) {
  extern __shared__ double buffer[];
  int t = threadIdx.x;
  int i = blockIdx.x * blockDim.x + t;
  buffer[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) buffer[t] += buffer[t + s];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, buffer[0]);
}

extern "C" __global__ void butterfly(const float* in, float* out) {
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int m = 1; m < 32; m <<= 1) v += __shfl_xor_sync(0xffffffffu, v, m);
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

extern "C" __global__ void reduceOps(const unsigned* in, unsigned* out) {
  unsigned v = in[threadIdx.x];
  unsigned* o = out + threadIdx.x * 8;
  o[0] = __reduce_add_sync(0xffffffffu, v);
  o[1] = __reduce_min_sync(0xffffffffu, v);
  o[2] = __reduce_max_sync(0xffffffffu, v);
  o[3] = __reduce_and_sync(0xffffffffu, v);
  o[4] = __reduce_or_sync(0xffffffffu, v);
  o[5] = __reduce_xor_sync(0xffffffffu, v);
  o[6] = (unsigned)__reduce_min_sync(0xffffffffu, (int)v);
  o[7] = (unsigned)__reduce_max_sync(0xffffffffu, (int)v);
}

extern "C" __global__ void countPositive(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int positive = i < n && in[i] > 0;
  int count = __syncthreads_count(positive);
  int any = __syncthreads_or(positive);
  int all = __syncthreads_and(positive);
  if (threadIdx.x == 0) {
    out[blockIdx.x * 3] = count;
    out[blockIdx.x * 3 + 1] = any != 0;
    out[blockIdx.x * 3 + 2] = all != 0;
  }
}
