// SPDX-License-Identifier: Apache-2.0
// Half and bfloat16 arithmetic.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half1(const __half* a, const __half* b, __half* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half x = a[i], y = b[i];
  __half* o = out + i * 12;
  o[0] = __hadd(x, y);
  o[1] = __hsub(x, y);
  o[2] = __hmul(x, y);
  o[3] = __hdiv(x, y);
  o[4] = __hfma(x, y, x);
  o[5] = __hneg(x);
  o[6] = __habs(x);
  o[7] = __hmin(x, y);
  o[8] = __hmax(x, y);
  o[9] = hsqrt(__habs(x));
  o[10] = __float2half(__half2float(x) * 3.0f);
  o[11] = __hlt(x, y) ? __int2half_rn(1) : __double2half(-2.5);
}

extern "C" __global__ void half2s(const __half2* a, const __half2* b, __half2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2* o = out + i * 4;
  o[0] = __hadd2(a[i], b[i]);
  o[1] = __hfma2(a[i], b[i], a[i]);
  o[2] = __hmul2(a[i], b[i]);
  o[3] = __hmax2(a[i], __lowhigh2highlow(b[i]));
}

extern "C" __global__ void bfloat(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                  __nv_bfloat16* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nv_bfloat16 x = a[i], y = b[i];
  __nv_bfloat16* o = out + i * 8;
  o[0] = __hadd(x, y);
  o[1] = __hsub(x, y);
  o[2] = __hmul(x, y);
  o[3] = __hdiv(x, y);
  o[4] = __hfma(x, y, x);
  o[5] = __hmin(x, y);
  o[6] = __float2bfloat16(__bfloat162float(x) * 3.0f);
  o[7] = __hgt(x, y) ? x : y;
}

extern "C" __global__ void halfAtomics(__half2* sum, __half* single) {
  atomicAdd(sum, __floats2half2_rn(1.0f, 0.5f));
  atomicAdd(single, __float2half(1.0f));
}
