// SPDX-License-Identifier: Apache-2.0
// The kernels of load.c; load.ptx is what nvcc makes of them:
//   (echo '// SPDX-License-Identifier: Apache-2.0'; echo '// Made by nvcc from load.cu, whose first lines say how.'; \
//    nvcc -ptx -O3 -arch=compute_75 -o - load.cu | sed -e '/^\/\//d' -e 's/^\.version .*/.version 7.0/') > load.ptx

// As long as it is told to be.
extern "C" __global__ void work(float *out, int turns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i;
  for (int turn = 0; turn < turns; turn++) {
    x = x * 1.0001f + 0.5f;
  }
  out[i] = x;
}

// As many nanoseconds as it is told to.
extern "C" __global__ void spin_ns(unsigned long long nanos) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanos);
}

// All blocks but the last wait for the last one, looking for its number over and over.
extern "C" __global__ void spin(float *out, volatile unsigned *flag, unsigned number, int turns) {
  if (blockIdx.x + 1 < gridDim.x) {
    while (*flag != number) {
    }
  } else {
    float x = threadIdx.x;
    for (int turn = 0; turn < turns; turn++) {
      x = x * 1.0001f + 0.5f;
    }
    out[threadIdx.x] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      *flag = number;
    }
  }
}

// All blocks of a cooperative launch meet again and again; the counter goes on from launch to launch.
extern "C" __global__ void meet(float *out, unsigned *counter, unsigned before, int rounds, int turns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i;
  for (int round = 1; round <= rounds; round++) {
    for (int turn = 0; turn < turns; turn++) {
      x = x * 1.0001f + 0.5f;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicAdd(counter, 1);
      while ((int)(atomicAdd(counter, 0) - (before + round * gridDim.x)) < 0) {
      }
    }
    __syncthreads();
  }
  out[i] = x;
}

// Never ends.
extern "C" __global__ void hang() {
  for (;;) {
    __nanosleep(1000);
  }
}
