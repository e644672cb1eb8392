// SPDX-License-Identifier: Apache-2.0
// Narrow and wide integer types, vector types, bit operations.

extern "C" __global__ void bytes(const signed char* a, const unsigned char* b, short* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  short* o = out + i * 8;
  o[0] = a[i] + b[i];
  o[1] = (signed char)(a[i] * b[i]);
  o[2] = (unsigned char)(a[i] - b[i]);
  o[3] = a[i] >> 2;
  o[4] = b[i] >> 3;
  o[5] = (short)(a[i] << 9);
  o[6] = a[i] < b[i];
  o[7] = b[i] ? a[i] / (b[i] + 1) : a[i] % 7;
}

extern "C" __global__ void shorts(const short* a, const unsigned short* b, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* o = out + i * 6;
  short s = a[i];
  unsigned short u = b[i];
  o[0] = (short)(s * s);
  o[1] = (unsigned short)(u + u);
  o[2] = s / (u % 11 + 1);
  o[3] = (short)(s >> (u & 15));
  o[4] = (unsigned short)(u >> (s & 15));
  o[5] = max(s, (short)u);
}

extern "C" __global__ void longs(const long long* a, const long long* b, long long* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long x = a[i], y = b[i];
  unsigned long long ux = x, uy = y;
  long long* o = out + i * 12;
  o[0] = x + y;
  o[1] = x * y;
  o[2] = y ? x / y : 0;
  o[3] = y ? x % y : 0;
  o[4] = uy ? ux / uy : 0;
  o[5] = uy ? ux % uy : 0;
  o[6] = __mul64hi(x, y);
  o[7] = __umul64hi(ux, uy);
  o[8] = __clzll(x) + 100 * __ffsll(y);
  o[9] = __popcll(x);
  o[10] = __brevll(x);
  o[11] = (x << (y & 63)) ^ (long long)(ux >> (y & 63));
}

extern "C" __global__ void bits(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], y = b[i];
  unsigned* o = out + i * 16;
  o[0] = __brev(x);
  o[1] = __clz(x);
  o[2] = __popc(x);
  o[3] = __byte_perm(x, y, 0x3715);
  o[4] = __funnelshift_l(x, y, y & 31);
  o[5] = __funnelshift_r(x, y, 13);
  o[6] = __umulhi(x, y);
  o[7] = __mulhi((int)x, (int)y);
  o[8] = __sad((int)x, (int)y, 5u);
  o[9] = __usad(x, y, 7u);
  o[10] = __dp4a(x, y, 3u);
  o[11] = __ffs(x);
  o[12] = __uhadd(x, y);
  o[13] = __vadd4(x, y);
  o[14] = __rhadd((int)x, (int)y);
  o[15] = (x & y) | (~x & (y >> 3));
}

extern "C" __global__ void packs(const uchar4* a, const short2* b, const double2* c, int4* out,
                                 int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uchar4 u = a[i];
  short2 s = b[i];
  double2 d = c[i];
  out[i] = make_int4(u.x + u.y * u.z - u.w, s.x * s.y, (int)(d.x * d.y), (int)rint(d.x - d.y));
}

extern "C" __global__ void conversions(const double* in, long long* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double d = in[i];
  float f = (float)d;
  long long* o = out + i * 16;
  o[0] = (int)d;
  o[1] = (unsigned)d;
  o[2] = (long long)d;
  o[3] = (long long)(unsigned long long)d;
  o[4] = (int)f;
  o[5] = (unsigned)f;
  o[6] = (long long)f;
  o[7] = __float2int_rn(f);
  o[8] = __float2int_ru(f);
  o[9] = __float2int_rd(f);
  o[10] = __double2int_rn(d);
  o[11] = __double_as_longlong((double)(long long)(d * 3));
  o[12] = __float_as_int(__double2float_rz(d));
  o[13] = __float_as_int((float)(unsigned long long)(d < 0 ? -d : d));
  o[14] = __float_as_int(f);
  o[15] = (signed char)(int)d;
}
