// SPDX-License-Identifier: Apache-2.0
// Four bytes and two halves at a time: the SIMD functions, and the video instructions behind them.
#include "check.h"

static const int kResults = 14;

__device__ unsigned scalar_video(unsigned a, unsigned b, unsigned c) {
  unsigned bytes, halves, merged, shifted;
  asm("vadd.u32.u32.u32.add %0, %1.b1, %2.b3, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(c));
  asm("vabsdiff.s32.s32.s32.max %0, %1.h0, %2.h1, %3;" : "=r"(halves) : "r"(a), "r"(b), "r"(c));
  asm("vsub.s32.u32.u32.sat %0.b2, %1.b0, %2.b1, %3;" : "=r"(merged) : "r"(a), "r"(b), "r"(c));
  asm("vshr.u32.u32.u32.clamp.min %0, %1, %2.b0, %3;" : "=r"(shifted) : "r"(a), "r"(b), "r"(c));
  return bytes ^ halves * 3 ^ merged * 5 ^ shifted * 7;
}

__global__ void work(const unsigned *a, const unsigned *b, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], y = b[i], *o = out + i * kResults, d;
  o[0] = __vadd4(x, y);
  o[1] = __vsub2(x, y);
  o[2] = __vabsdiffu4(x, y);
  o[3] = __vavgu4(x, y);
  o[4] = __vmaxs2(x, y);
  o[5] = __vminu4(x, y);
  o[6] = __vaddss2(x, y);
  o[7] = __vcmpgtu4(x, y);
  o[8] = __vsadu4(x, y);
  asm("vadd4.s32.s32.s32.sat %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(0));
  o[9] = d;
  asm("vset4.u32.u32.lt.add %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(x));
  o[10] = d;
  asm("vabsdiff2.u32.s32.s32.add %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(y));
  o[11] = d;
  o[12] = __dp4a(int(x), int(y), 5) ^ __dp2a_lo(int(x), int(y), 7);
  o[13] = scalar_video(x, y, x ^ y);
}

static int byte_of(unsigned value, int i) { return value >> 8 * i & 255; }
static int sbyte_of(unsigned value, int i) { return int8_t(value >> 8 * i); }
static int short_of(unsigned value, int i) { return int16_t(value >> 16 * i); }
static int clamp_to(int value, int low, int high) { return value < low ? low : value > high ? high : value; }

static unsigned scalar_expected(unsigned a, unsigned b, unsigned c) {
  unsigned bytes = byte_of(a, 1) + byte_of(b, 3) + c;
  int difference = std::abs(short_of(a, 0) - short_of(b, 1));
  unsigned halves = difference > int(c) ? difference : int(c);
  unsigned part = clamp_to(byte_of(a, 0) - byte_of(b, 1), -128, 127) & 255;
  unsigned merged = (c & 0xff00ffffu) | part << 16;
  unsigned amount = byte_of(b, 0) > 32 ? 32 : byte_of(b, 0);
  unsigned moved = amount == 32 ? 0 : a >> amount;
  unsigned shifted = moved < c ? moved : c;
  return bytes ^ halves * 3 ^ merged * 5 ^ shifted * 7;
}

int main() {
  const int n = 4096;
  Numbers numbers(77);
  std::vector<unsigned> a(n), b(n), expected(n * kResults, 0);
  for (int i = 0; i < n; i++) {
    a[i] = numbers.next() ^ numbers.next() << 16;
    b[i] = i % 5 == 0 ? a[i] : numbers.next() ^ numbers.next() << 16;
    unsigned x = a[i], y = b[i], *e = &expected[i * kResults];
    unsigned sad = 0, less = x, distance = y;
    int dot4 = 5, dot2 = 7;
    for (int k = 0; k < 4; k++) {
      int u = byte_of(x, k), v = byte_of(y, k), s = sbyte_of(x, k), t = sbyte_of(y, k);
      e[0] |= (u + v & 255) << 8 * k;
      e[2] |= std::abs(u - v) << 8 * k;
      e[3] |= (u + v + 1 >> 1) << 8 * k;
      e[5] |= (u < v ? u : v) << 8 * k;
      e[7] |= (u > v ? 255u : 0) << 8 * k;
      sad += std::abs(u - v);
      e[9] |= (clamp_to(s + t, -128, 127) & 255) << 8 * k;
      less += u < v;
      dot4 += s * t;
    }
    for (int k = 0; k < 2; k++) {
      int s = short_of(x, k), t = short_of(y, k);
      e[1] |= (s - t & 65535) << 16 * k;
      e[4] |= ((s > t ? s : t) & 65535) << 16 * k;
      e[6] |= (clamp_to(s + t, -32768, 32767) & 65535) << 16 * k;
      distance += std::abs(s - t);
      dot2 += s * sbyte_of(y, k);
    }
    e[8] = sad;
    e[10] = less;
    e[11] = distance;
    e[12] = unsigned(dot4 ^ dot2);
    e[13] = scalar_expected(x, y, x ^ y);
  }
  unsigned *da = device_copy(a), *db = device_copy(b), *out;
  CHECK(cudaMalloc(&out, n * kResults * sizeof(unsigned)));
  work<<<n / 128, 128>>>(da, db, out, n);
  launched();
  std::vector<unsigned> actual = host_copy(out, n * kResults);
  for (int i = 0; i < n * kResults; i++) {
    REQUIRE(actual[i] == expected[i], "result %d of %08x, %08x is %08x, not %08x", i % kResults,
        a[i / kResults], b[i / kResults], actual[i], expected[i]);
  }
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(out));
  return ok("%d pairs", n);
}
