// SPDX-License-Identifier: Apache-2.0
// Single-precision library functions.

extern "C" __global__ void functions(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  float* o = out + i * 20;
  o[0] = sinf(x);
  o[1] = cosf(x);
  o[2] = tanf(x);
  o[3] = expf(x);
  o[4] = logf(fabsf(x));
  o[5] = sqrtf(fabsf(x));
  o[6] = powf(fabsf(x), 1.37f);
  o[7] = atan2f(x, 2.0f);
  o[8] = tanhf(x);
  o[9] = cbrtf(x);
  o[10] = erff(x);
  o[11] = floorf(x);
  o[12] = fmodf(x, 0.7f);
  o[13] = 1.0f / x;
  o[14] = rsqrtf(fabsf(x));
  o[15] = x / 3.0f;
  o[16] = hypotf(x, 3.0f);
  o[17] = log1pf(fabsf(x));
  o[18] = exp2f(x);
  o[19] = rintf(x);
}

extern "C" __global__ void intrinsics(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  float* o = out + i * 10;
  o[0] = __sinf(x);
  o[1] = __cosf(x);
  o[2] = __expf(x);
  o[3] = __logf(fabsf(x));
  o[4] = __fdividef(x, 3.0f);
  o[5] = __saturatef(x);
  o[6] = __frcp_rn(x);
  o[7] = __fsqrt_rn(fabsf(x));
  o[8] = __powf(fabsf(x), 1.5f);
  o[9] = __fmaf_rn(x, x, 1.0f);
}

extern "C" __global__ void rounding(const float* a, const float* b, const float* c, float* out,
                                    int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i], z = c[i];
  float* o = out + i * 24;
  o[0] = __fadd_rn(x, y);
  o[1] = __fadd_rz(x, y);
  o[2] = __fadd_ru(x, y);
  o[3] = __fadd_rd(x, y);
  o[4] = __fmul_rn(x, y);
  o[5] = __fmul_rz(x, y);
  o[6] = __fmul_ru(x, y);
  o[7] = __fmul_rd(x, y);
  o[8] = __fmaf_rn(x, y, z);
  o[9] = __fmaf_rz(x, y, z);
  o[10] = __fmaf_ru(x, y, z);
  o[11] = __fmaf_rd(x, y, z);
  o[12] = __fdiv_rn(x, y);
  o[13] = __fdiv_rz(x, y);
  o[14] = __fdiv_ru(x, y);
  o[15] = __fdiv_rd(x, y);
  o[16] = __fsqrt_rn(fabsf(x));
  o[17] = __fsqrt_rz(fabsf(x));
  o[18] = __fsqrt_ru(fabsf(x));
  o[19] = __fsqrt_rd(fabsf(x));
  o[20] = __frcp_rn(x);
  o[21] = __frcp_rz(x);
  o[22] = __frcp_ru(x);
  o[23] = __frcp_rd(x);
}
