// SPDX-License-Identifier: Apache-2.0
// Threads that wait for each other by spinning.

extern "C" __global__ void spinLock(int* lock, int* counter, int rounds) {
  for (int i = 0; i < rounds; i++) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    volatile int* c = counter;
    *c = *c + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

extern "C" __global__ void backoffLock(int* lock, int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int*)counter += 2;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    } else {
      __nanosleep(100);
    }
  }
}

// Threads pass a token in reverse order of their index.
extern "C" __global__ void relay(volatile int* token, int* order) {
  while (*token != threadIdx.x) {
  }
  order[blockDim.x - 1 - threadIdx.x] = threadIdx.x;
  __threadfence();
  *token = threadIdx.x - 1;
}

// A grid barrier of the program's own: all blocks must be in flight at once.
extern "C" __global__ void gridBarrier(unsigned* arrived, int* data, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i * 3;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned*)arrived < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  int n = gridDim.x * blockDim.x;
  out[i] = ((volatile int*)data)[(i + blockDim.x) % n];
}
