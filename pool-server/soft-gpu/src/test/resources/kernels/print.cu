// SPDX-License-Identifier: Apache-2.0
// Device printf and assertions.
#include <cassert>
#include <cstdio>

extern "C" __global__ void hello(int n, const char* name) {
  if (threadIdx.x < n) {
    printf("thread %d of %u: %s %5.2f %-6s|%c|%x %#o %lld %% %+d %08.3e\n", threadIdx.x, blockDim.x,
           name, threadIdx.x * 1.5, "left", 'a' + threadIdx.x, 255 + threadIdx.x, 8,
           1234567890123LL, 42, 12345.678);
  }
}

extern "C" __global__ void plain() { printf("no arguments\n"); }

extern "C" __global__ void checked(int limit) { assert(threadIdx.x < limit); }
