// SPDX-License-Identifier: Apache-2.0
// Control flow: switches, calls, structures by value.

extern "C" __global__ void classify(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = in[i], r;
  switch (v) {
    case 0: r = v + 17; break;
    case 1: r = v * v - 3; break;
    case 2: r = in[(i + 1) % n]; break;
    case 3: r = v ^ 0x55; break;
    case 4: out[i] = -4; return;
    case 5: r = __popc(i); break;
    case 6: r = i / 3; break;
    case 7: r = i % 7; break;
    case 8: r = -i; break;
    default: r = v < 0 ? -1 : 99; break;
  }
  out[i] = r;
}

struct Shape {
  char kind;
  double size;
  short corner[3];
  float2 scale;
};

extern "C" __global__ void structure(Shape shape, Shape* out, int index) {
  Shape s = shape;
  s.kind += 1;
  s.size *= 2;
  s.corner[index] = -7;
  s.scale.y = s.scale.x + shape.corner[index];
  out[threadIdx.x] = s;
}

struct Pair {
  long long first;
  float second;
  char tag;
};

__device__ __noinline__ Pair makePair(int a, float b) {
  Pair p;
  p.first = (long long)a * a;
  p.second = b * 0.5f;
  p.tag = (char)a;
  return p;
}

__device__ __noinline__ float horner(const float* c, int n, float x) {
  float r = 0;
  for (int i = n - 1; i >= 0; i--) r = r * x + c[i];
  return r;
}

__device__ __noinline__ int warpMax(int v) {
  for (int d = 16; d > 0; d >>= 1) v = max(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}

extern "C" __global__ void calls(Pair* pairs, float* polynomials, int* maxima) {
  int t = threadIdx.x;
  float c[5];
  for (int i = 0; i < 5; i++) c[i] = (float)(t + i);
  pairs[t] = makePair(t, (float)t);
  polynomials[t] = horner(c, 1 + t % 5, 0.5f);
  maxima[t] = warpMax((t * 37) % 101);
}

__device__ __noinline__ unsigned collatz(unsigned n) {
  unsigned steps = 0;
  while (n != 1) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    steps++;
    if (steps > 10000) break;
  }
  return steps;
}

extern "C" __global__ void loops(unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned total = 0;
  for (int a = 1; a <= 3; a++) {
    for (int b = 0; b < i % 4; b++) {
      if ((a * b) % 5 == 3) continue;
      total += collatz(i + a * b + 1);
    }
  }
  out[i] = total;
}
