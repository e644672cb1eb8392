// SPDX-License-Identifier: Apache-2.0
// Double-precision library functions.

extern "C" __global__ void functions(const double* in, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = in[i];
  double* o = out + i * 20;
  o[0] = sin(x);
  o[1] = cos(x);
  o[2] = tan(x);
  o[3] = exp(x);
  o[4] = log(fabs(x));
  o[5] = sqrt(fabs(x));
  o[6] = pow(fabs(x), 1.37);
  o[7] = atan2(x, 2.0);
  o[8] = tanh(x);
  o[9] = cbrt(x);
  o[10] = erf(x);
  o[11] = floor(x);
  o[12] = fmod(x, 0.7);
  o[13] = 1.0 / x;
  o[14] = rsqrt(fabs(x));
  o[15] = x / 3.0;
  o[16] = hypot(x, 3.0);
  o[17] = log1p(fabs(x));
  o[18] = expm1(x);
  o[19] = lgamma(fabs(x) + 0.5);
}
