// SPDX-License-Identifier: Apache-2.0
// Recursive and indirect calls.

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void recursive(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x); }

typedef float (*Operation)(float, float);

__device__ float plus(float a, float b) { return a + b; }
__device__ float times(float a, float b) { return a * b; }
__device__ float swapped(float a, float b) { return b - a; }

__device__ Operation operations[3] = {plus, times, swapped};

extern "C" __global__ void indirect(float* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = operations[i % 3]((float)i, 2.0f);
}

struct Base {
  __device__ virtual int value(int x) const { return x; }
};
struct Derived : Base {
  int factor;
  __device__ Derived(int f) : factor(f) {}
  __device__ int value(int x) const override { return x * factor; }
};

__device__ __noinline__ int apply(const Base* base, int x) { return base->value(x); }

extern "C" __global__ void virtualCalls(int* out) {
  Base plain;
  Derived derived(threadIdx.x);
  const Base* chosen = threadIdx.x % 2 ? &plain : (const Base*)&derived;
  out[threadIdx.x] = apply(chosen, 10 + threadIdx.x);
}
