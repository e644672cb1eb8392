// SPDX-License-Identifier: Apache-2.0
// Half precision, bfloat16 and 8-bit floats through their headers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void halves(const __half *a, const __half *b, const __half *c, __half *d) {
  int i = threadIdx.x;
  __half x = a[i], y = b[i], z = c[i];
  d[0] = __hadd(x, y);
  d[1] = __hadd_sat(x, y);
  d[2] = __hadd_rn(x, y);
  d[3] = __hsub(x, y);
  d[4] = __hmul(x, y);
  d[5] = __hmul_sat(x, y);
  d[6] = __hfma(x, y, z);
  d[7] = __hfma_sat(x, y, z);
  d[8] = __hfma_relu(x, y, z);
  d[9] = __hdiv(x, y);
  d[10] = __hneg(x);
  d[11] = __habs(x);
  d[12] = __hmin(x, y);
  d[13] = __hmax(x, y);
  d[14] = __hmin_nan(x, y);
  d[15] = __hmax_nan(x, y);
  d[16] = hsqrt(x);
  d[17] = hrsqrt(x);
  d[18] = hrcp(x);
  d[19] = hlog(x);
  d[20] = hexp(x);
  d[21] = hexp2(x);
  d[22] = hsin(x);
  d[23] = hcos(x);
  d[24] = htanh(x);
  d[25] = htanh_approx(x);
  d[26] = hfloor(x);
  d[27] = hceil(x);
  d[28] = htrunc(x);
  d[29] = hrint(x);
  d[30] = __float2half_rz(__half2float(x));
  d[31] = __double2half(__half2float(y));
  d[32] = __int2half_rn(__half2int_rz(x));
  d[33] = __uint2half_rd(__half2uint_ru(x));
  d[34] = __ll2half_ru(__half2ll_rd(x));
  d[35] = __ushort2half_rz(__half2ushort_rn(x));
  d[36] = __heq(x, y) ? x : z;
  d[37] = __hltu(x, y) ? x : z;
  d[38] = __hgeu(x, y) ? x : z;
  d[39] = __hisnan(x) ? y : z;
}

extern "C" __global__ void half_pairs(const __half2 *a, const __half2 *b, const __half2 *c, __half2 *d, bool *e) {
  int i = threadIdx.x;
  __half2 x = a[i], y = b[i], z = c[i];
  d[0] = __hadd2(x, y);
  d[1] = __hadd2_sat(x, y);
  d[2] = __hsub2(x, y);
  d[3] = __hmul2(x, y);
  d[4] = __hfma2(x, y, z);
  d[5] = __hfma2_sat(x, y, z);
  d[6] = __hfma2_relu(x, y, z);
  d[7] = __hneg2(x);
  d[8] = __habs2(x);
  d[9] = __hmin2(x, y);
  d[10] = __hmax2_nan(x, y);
  d[11] = __heq2(x, y);
  d[12] = __hltu2(x, y);
  d[13] = h2exp2(x);
  d[14] = h2tanh_approx(x);
  d[15] = __floats2half2_rn(__low2float(x), __high2float(y));
  d[16] = __h2div(x, y);
  d[17] = __hcmadd(x, y, z);
  d[18] = __shfl_xor_sync(~0u, x, 1);
  d[19] = __ldg(a + 3);
  d[20] = __ldcg(a + 4);
  d[21] = h2sqrt(x);
  atomicAdd(d + 22, x);
  atomicAdd(reinterpret_cast<__half *>(d + 23), __low2half(x));
  e[0] = __hbeq2(x, y);
  e[1] = __hbgtu2(x, y);
  e[2] = __heq2_mask(x, y) != 0;
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void brains(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *d) {
  int i = threadIdx.x;
  __nv_bfloat16 x = a[i], y = b[i];
  d[0] = __hadd(x, y);
  d[1] = __hsub(x, y);
  d[2] = __hmul(x, y);
  d[3] = __hfma(x, y, x);
  d[4] = __hfma_relu(x, y, x);
  d[5] = __hmin(x, y);
  d[6] = __hmax_nan(x, y);
  d[7] = __hneg(x);
  d[8] = __habs(x);
  d[9] = hexp2(x);
  d[10] = htanh(x);
  d[11] = hsqrt(x);
  d[12] = __float2bfloat16_rz(__bfloat162float(x));
  d[13] = __double2bfloat16(__bfloat162float(y));
  d[14] = __int2bfloat16_rn(__bfloat162int_rz(x));
  d[15] = __hlt(x, y) ? x : y;
  d[17] = hlog2(x);
  d[18] = hfloor(x);
}

extern "C" __global__ void brain_pairs(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *d) {
  int i = threadIdx.x;
  __nv_bfloat162 x = a[i], y = b[i];
  d[0] = __hadd2(x, y);
  d[1] = __hmul2(x, y);
  d[2] = __hfma2(x, y, x);
  d[3] = __hfma2_relu(x, y, x);
  d[4] = __hmax2(x, y);
  d[5] = __hmin2_nan(x, y);
  d[6] = __hneg2(x);
  d[7] = __habs2(x);
  d[8] = h2exp2(x);
  d[9] = __heq2(x, y);
  d[10] = __floats2bfloat162_rn(__low2float(x), 1.0f);
  d[11] = __ldcs(a + 5);
  atomicAdd(d + 12, x);
  atomicAdd(reinterpret_cast<__nv_bfloat16 *>(d + 13), __low2bfloat16(x));
}
#endif

extern "C" __global__ void bytes_of_floats(const float2 *a, __nv_fp8x2_storage_t *b, __half2_raw *c) {
  int i = threadIdx.x;
  b[0] = __nv_cvt_float2_to_fp8x2(a[i], __NV_SATFINITE, __NV_E4M3);
  b[1] = __nv_cvt_float2_to_fp8x2(a[i], __NV_SATFINITE, __NV_E5M2);
  c[0] = __nv_cvt_fp8x2_to_halfraw2(b[i], __NV_E4M3);
  c[1] = __nv_cvt_fp8x2_to_halfraw2(b[i], __NV_E5M2);
  b[2] = __nv_cvt_halfraw2_to_fp8x2(c[i], __NV_SATFINITE, __NV_E4M3);
}
