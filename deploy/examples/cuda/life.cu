// SPDX-License-Identifier: Apache-2.0
// Conway's game of life on a torus: a byte a cell, and 32 cells a word by full adders of bits.
#include "check.h"

const int w = 256, h = 160, words = w / 32;

__global__ void bytes(const unsigned char *in, unsigned char *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int count = 0;
  for (int dy = -1; dy <= 1; dy++) {
    for (int dx = -1; dx <= 1; dx++) {
      if (dx != 0 || dy != 0) count += in[(y + dy + h) % h * w + (x + dx + w) % w];
    }
  }
  out[y * w + x] = count == 3 || (count == 2 && in[y * w + x]);
}

__device__ void full_add(unsigned a, unsigned b, unsigned c, unsigned &sum, unsigned &carry) {
  sum = a ^ b ^ c;
  carry = (a & b) | (c & (a ^ b));
}

// Neighbours to the left and right come over the word's edge by funnel shifts.
__global__ void bits(const unsigned *in, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= words * h) return;
  int x = i % words, y = i / words;
  unsigned own = 0, low[3], high[3];
  for (int row = 0; row < 3; row++) {
    const unsigned *line = in + (y + row - 1 + h) % h * words;
    unsigned centre = line[x], before = line[(x + words - 1) % words], after = line[(x + 1) % words];
    unsigned left = __funnelshift_l(before, centre, 1), right = __funnelshift_r(centre, after, 1);
    if (row == 1) {
      own = centre;
      low[row] = left ^ right;
      high[row] = left & right;
    } else {
      full_add(left, centre, right, low[row], high[row]);
    }
  }
  unsigned one, carry, two, four, two_more, four_more;
  full_add(low[0], low[1], low[2], one, carry);
  full_add(high[0], high[1], high[2], two, four);
  two_more = two ^ carry;
  four_more = four ^ (two & carry);
  out[i] = two_more & ~four_more & (one | own);
}

int main() {
  const int generations = 60;
  Numbers numbers(43);
  std::vector<unsigned char> cells(w * h), next(w * h);
  std::vector<unsigned> packed(words * h);
  for (int i = 0; i < w * h; i++) {
    cells[i] = numbers.next() % 3 == 0;
    packed[i / 32] |= unsigned(cells[i]) << i % 32;
  }
  unsigned char *a = device_copy(cells), *b = device_copy(cells);
  unsigned *c = device_copy(packed), *d = device_copy(packed);
  for (int i = 0; i < generations; i++) {
    bytes<<<dim3(w / 32, h / 8), dim3(32, 8)>>>(a, b);
    bits<<<(words * h + 63) / 64, 64>>>(c, d);
    std::swap(a, b);
    std::swap(c, d);
  }
  launched();
  int alive = 0;
  for (int i = 0; i < generations; i++, cells.swap(next)) {
    alive = 0;
    for (int at = 0; at < w * h; at++) {
      int x = at % w, y = at / w, count = 0;
      for (int dy = h - 1; dy <= h + 1; dy++) {
        for (int dx = w - 1; dx <= w + 1; dx++) count += cells[(y + dy) % h * w + (x + dx) % w];
      }
      next[at] = count == 3 || (count == 4 && cells[at]);
      alive += next[at];
    }
  }
  require_equal(host_copy(a, w * h), cells);
  packed.assign(words * h, 0);
  for (int i = 0; i < w * h; i++) packed[i / 32] |= unsigned(cells[i]) << i % 32;
  require_equal(host_copy(c, words * h), packed);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  CHECK(cudaFree(d));
  return ok("%d cells alive after %d generations", alive, generations);
}
