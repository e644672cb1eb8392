// SPDX-License-Identifier: Apache-2.0
// Kernels that go wrong.

extern "C" __global__ void outOfRange(int* p, long long index) { p[index] = 1; }

extern "C" __global__ void misaligned(char* p) { *(int*)(p + 1) = 5; }

extern "C" __global__ void spin(volatile int* flag) {
  while (*flag == 0) {
  }
}

extern "C" __global__ void compute(unsigned* out) {
  unsigned x = threadIdx.x + 1;
  while (x != 0) x = x * 1664525u | 1u;
  *out = x;
}

extern "C" __global__ void trap(int v) {
  if (v == 3) asm("trap;");
}

extern "C" __global__ void sharedOverrun(int* out, int index) {
  __shared__ int box[8];
  box[threadIdx.x & 7] = 1;
  __syncthreads();
  out[0] = box[index];
}

extern "C" __global__ void deadlock() {
  if (threadIdx.x == 0) asm volatile("bar.sync 2, 64;");
}
