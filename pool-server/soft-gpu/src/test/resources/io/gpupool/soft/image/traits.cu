// SPDX-License-Identifier: Apache-2.0
// Kernels that call functions directly (1), by their addresses (2), and allocate memory (3).
__device__ __noinline__ int first(int x) { return x + 1; }
__device__ __noinline__ int second(int x) { return x * 3; }

#if KIND == 1
extern "C" __global__ void call(int *out) { *out = first(*out) + second(*out); }
#elif KIND == 2
__device__ int (*slot)(int);
extern "C" __global__ void choose(int which) { slot = which ? first : second; }
extern "C" __global__ void call(int *out) { *out = slot(*out); }
#else
extern "C" __global__ void allocate(void **out) { *out = malloc(8); }
#endif
