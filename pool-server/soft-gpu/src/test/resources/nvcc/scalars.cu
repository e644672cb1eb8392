// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons, conversions, loads and stores of plain C++ and of intrinsics.
#include <cstdint>

template <typename T>
__device__ void whole(T *d, T x, T y) {
  d[0] = x + y;
  d[1] = x - y;
  d[2] = x * y;
  d[3] = x / y;
  d[4] = x % y;
  d[5] = x << (y & 7);
  d[6] = x >> (y & 7);
  d[7] = x & y;
  d[8] = x | y;
  d[9] = x ^ y;
  d[10] = ~x;
  d[11] = -x;
  d[12] = x < y ? x : y;
  d[13] = x > y ? x : y;
  d[14] = x == y;
  d[15] = x != y;
  d[16] = x <= y;
  d[17] = !x;
  d[18] = x * y + d[20];
  d[19] = static_cast<T>(static_cast<float>(x)) + static_cast<T>(static_cast<double>(y));
  d[21] = static_cast<T>(static_cast<int8_t>(x)) + static_cast<T>(static_cast<uint16_t>(y)) + static_cast<T>(static_cast<int64_t>(x)) + static_cast<T>(static_cast<uint32_t>(y));
}

extern "C" __global__ void whole_numbers(int8_t *a, uint8_t *b, int16_t *c, uint16_t *d, int32_t *e, uint32_t *f, int64_t *g, uint64_t *h) {
  whole(a, a[30], a[31]);
  whole(b, b[30], b[31]);
  whole(c, c[30], c[31]);
  whole(d, d[30], d[31]);
  whole(e, e[30], e[31]);
  whole(f, f[30], f[31]);
  whole(g, g[30], g[31]);
  whole(h, h[30], h[31]);
}

extern "C" __global__ void whole_intrinsics(int *d, unsigned *u, long long *l, unsigned long long *m) {
  int x = d[30], y = d[31];
  unsigned v = u[30], w = u[31];
  long long p = l[30];
  unsigned long long q = m[30];
  d[0] = __mulhi(x, y) + __mul24(x, y) + __sad(x, y, 3) + __hadd(x, y) + __rhadd(x, y) + abs(x) + min(x, y) + max(x, y);
  u[0] = __umulhi(v, w) + __umul24(v, w) + __usad(v, w, 3) + __uhadd(v, w) + __urhadd(v, w) + __funnelshift_l(v, w, 3) + __funnelshift_rc(v, w, x);
  l[0] = __mul64hi(p, l[1]) + llabs(p) + __brevll(p) + __clzll(p) + __popcll(p) + __ffsll(p);
  m[0] = __umul64hi(q, m[1]);
  d[1] = __dp4a(x, y, 3) + __dp2a_lo(x, y, 2) + __dp2a_hi(x, y, 1);
  u[1] = __dp4a(v, w, 3u) + __vadd2(v, w) + __vadd4(v, w) + __vsub2(v, w) + __vabsdiffu4(v, w) + __vavgu2(v, w) + __vmaxs2(v, w) + __vminu4(v, w) + __vcmpeq4(v, w) + __vsadu4(v, w) + __vseteq2(v, w) + __vaddss2(v, w) + __vibmax_s16x2(v, w, nullptr, nullptr);
  unsigned __int128 a = q, b = m[2];
  a = a * b + (a - b);
  m[3] = a >> 64;
  m[4] = a;
}

extern "C" __global__ void floats(float *d, double *e, int *i, long long *l) {
  float x = d[30], y = d[31], z = d[32];
  double a = e[30], b = e[31], c = e[32];
  d[0] = x + y; d[1] = x - y; d[2] = x * y; d[3] = x / y; d[4] = x * y + z;
  e[0] = a + b; e[1] = a - b; e[2] = a * b; e[3] = a / b; e[4] = a * b + c;
  d[5] = __fadd_rz(x, y) + __fsub_ru(x, y) + __fmul_rd(x, y) + __fmaf_rz(x, y, z) + __fdiv_ru(x, y) + __frcp_rd(x) + __fsqrt_rz(x) + __frsqrt_rn(x);
  e[5] = __dadd_rz(a, b) + __dsub_ru(a, b) + __dmul_rd(a, b) + __fma_rz(a, b, c) + __ddiv_ru(a, b) + __drcp_rd(a) + __dsqrt_rz(a);
  d[6] = __sinf(x) + __cosf(x) + __expf(x) + __logf(x) + __powf(x, y) + __fdividef(x, y) + __saturatef(x) + __tanf(x) + __log2f(x) + __exp10f(x);
  d[7] = sinf(x) + cosf(x) + tanf(x) + expf(x) + logf(x) + powf(x, y) + sqrtf(x) + rsqrtf(x) + cbrtf(x) + erff(x) + tgammaf(x) + fmodf(x, y) + tanhf(x) + exp2f(x) + log10f(x) + atan2f(x, y);
  e[6] = sin(a) + cos(a) + exp(a) + log(a) + pow(a, b) + sqrt(a) + rsqrt(a) + erf(a) + tgamma(a) + fmod(a, b) + fmin(a, b) + fmax(a, b) + copysign(a, b) + floor(a) + rint(a);
  d[8] = fminf(x, y) + fmaxf(x, y) + fabsf(x) + copysignf(x, y) + floorf(x) + ceilf(x) + truncf(x) + rintf(x) + roundf(x) + ldexpf(x, 3);
  i[0] = __float2int_rn(x) + __float2uint_rz(y) + __float_as_int(x) + __double2int_ru(a) + __double2hiint(a) + isnan(x) + isinf(a) + signbit(y) + isfinite(b);
  l[0] = __float2ll_rd(x) + __double2ull_rn(a) + __double_as_longlong(a);
  d[9] = __int2float_rz(i[1]) + __uint2float_ru(i[2]) + __ll2float_rd(l[1]) + __double2float_rn(a) + __int_as_float(i[3]);
  e[7] = __int2double_rn(i[1]) + __ll2double_rz(l[1]) + x + __hiloint2double(i[1], i[2]);
  i[4] = (x < y) + (x <= y) + (x == y) + (x != y) + (a < b) + (a >= b) + (a != b) + (x > y) + !(a < b);
}

extern "C" __global__ void loads(const char *c, const short2 *s, const int4 *i, const double2 *d, volatile int *v, float4 *f, ulonglong2 *l) {
  __shared__ volatile int sv[64];
  extern __shared__ float4 sf[];
  int4 a = __ldg(i) ;
  int4 b = __ldcg(i + 1), e = __ldca(i + 2), g = __ldcs(i + 3), h = __ldlu(i + 4), k = __ldcv(i + 5);
  sv[threadIdx.x] = v[0] + a.x + b.y + e.z + g.w + h.x + k.y;
  v[1] = sv[3];
  sf[threadIdx.x] = f[1];
  __stcg(f + 2, sf[3]);
  __stcs(f + 3, sf[4]);
  __stwt(f + 4, sf[5]);
  __stwb(f + 5, sf[6]);
  int local[8];
  for (int n = 0; n < 8; n++) local[n ^ v[2]] = n;
  f[6].x = local[v[3] & 7] + c[3] + s[1].y + d[2].x;
  l[1] = l[0];
  double2 dd = d[1];
  f[7].y = dd.x + __ldg(d).y + __ldg(s).x + __ldg(c);
  asm volatile("prefetch.global.L2 [%0];" ::"l"(c));
  __prof_trigger(1);
}

__noinline__ __device__ int called(int x, int *p) { return x > 0 ? called(x - 1, p) + p[x] : 0; }
__device__ int by_pointer(int x) { return x * 3; }
__device__ int (*pointer)(int) = by_pointer;

extern "C" __global__ void calls(int *p, int s) {
  p[0] = called(p[1], p) + pointer(s);
  switch (s) {
    case 0: p[1] = 5; break;
    case 1: p[2] = 7; break;
    case 2: p[3] = 9; break;
    case 3: p[4] = 11; break;
    case 4: p[5] = p[6] * 3; break;
    case 5: p[7] = 15; break;
    default: __trap();
  }
  if (p[9] == 77) __brkpt();
}
