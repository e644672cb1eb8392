// SPDX-License-Identifier: Apache-2.0
// Generic addresses, local arrays, asynchronous copies, special registers.
#include <cuda_pipeline.h>

__device__ __noinline__ int sum(const int* p, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += p[i];
  return s;
}

extern "C" __global__ void spaces(const int* global, int* out) {
  __shared__ int box[4];
  int local[4];
  for (int i = 0; i < 4; i++) {
    if (threadIdx.x == 0) box[i] = 10 + i;
    local[i] = i * (threadIdx.x + 1);
  }
  __syncthreads();
  const int* p = threadIdx.x % 3 == 0 ? global : threadIdx.x % 3 == 1 ? box : local;
  int kind = __isGlobal(p) | __isShared(p) << 1 | __isLocal(p) << 2;
  out[threadIdx.x] = sum(p, 4) * 8 + kind;
}

extern "C" __global__ void registers(unsigned* out) {
  unsigned lane, warp, nwarp, sm, lt, ge;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm("mov.u32 %0, %%nwarpid;" : "=r"(nwarp));
  asm("mov.u32 %0, %%smid;" : "=r"(sm));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
  long long before = clock64();
  unsigned* o = out + (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  o[0] = lane;
  o[1] = warp;
  o[2] = gridDim.x * 1000 + blockDim.x;
  o[3] = lt;
  o[4] = ge;
  o[5] = clock64() >= before;
  o[6] = warpSize;
  o[7] = nwarp > warp && sm < 4096;
}

extern "C" __global__ void asyncCopy(const float4* in, float4* out) {
  __shared__ float4 box[64];
  __pipeline_memcpy_async(&box[threadIdx.x], &in[threadIdx.x], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = box[63 - threadIdx.x];
}
