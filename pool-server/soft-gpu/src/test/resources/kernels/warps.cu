// SPDX-License-Identifier: Apache-2.0
// Warp primitives under divergence.

extern "C" __global__ void halves(int* out) {
  int lane = threadIdx.x & 31;
  int v;
  if (lane < 16) {
    v = __shfl_xor_sync(0x0000ffffu, lane * 3, 5);
    __syncwarp(0x0000ffffu);
    v += __popc(__ballot_sync(0x0000ffffu, lane & 1));
  } else {
    v = __shfl_xor_sync(0xffff0000u, lane * 7, 9);
    v += 1000 * __popc(__ballot_sync(0xffff0000u, lane > 20));
  }
  out[threadIdx.x] = v;
}

extern "C" __global__ void votes(const int* in, unsigned* out) {
  int v = in[threadIdx.x];
  unsigned* o = out + threadIdx.x * 6;
  o[0] = __ballot_sync(0xffffffffu, v & 1);
  o[1] = __any_sync(0xffffffffu, v > 95);
  o[2] = __all_sync(0xffffffffu, v >= 0);
  o[3] = __match_any_sync(0xffffffffu, v % 5);
  int same;
  o[4] = __match_all_sync(0xffffffffu, v >> 10, &same);
  o[5] = same;
}

// Threads leave at different times; those that stay go on with barriers and shuffles.
extern "C" __global__ void earlyExit(int* out) {
  if (threadIdx.x % 3 == 1) return;
  __syncthreads();
  int total = 0;
  for (int i = 0; i < threadIdx.x % 5; i++) total += i;
  __syncthreads();
  out[threadIdx.x] = total + 1;
}

// Data handed between lanes of one warp in divergent code, ordered by __syncwarp.
extern "C" __global__ void exchange(int* out) {
  __shared__ volatile int box[64];
  int lane = threadIdx.x;
  box[lane] = lane;
  __syncwarp();
  if (lane % 2 == 0) {
    box[lane] = box[lane + 1] * 10;
  }
  __syncwarp();
  if (lane % 2 == 1) {
    box[lane] = box[lane - 1] + 1;
  }
  __syncwarp();
  out[lane] = box[lane];
}

// A consumer warp waits for a producer warp at a named barrier.
extern "C" __global__ void namedBarriers(int* out) {
  __shared__ int data[32];
  if (threadIdx.x < 32) {
    data[threadIdx.x] = threadIdx.x * threadIdx.x;
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else if (threadIdx.x < 64) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x - 32] = data[63 - threadIdx.x];
  }
}

// Every lane elects leaders of its active set until all are served.
extern "C" __global__ void leaders(const int* keys, int* counts) {
  int key = keys[threadIdx.x];
  unsigned peers = __match_any_sync(__activemask(), key);
  int leader = __ffs(peers) - 1;
  if ((threadIdx.x & 31) == leader) atomicAdd(&counts[key], __popc(peers));
}

extern "C" __global__ void shuffleModes(long long* out) {
  int lane = threadIdx.x;
  long long v = (long long)lane * 0x100000001LL;
  long long* o = out + lane * 4;
  o[0] = __shfl_sync(0xffffffffu, v, lane * 5, 8);
  o[1] = __shfl_up_sync(0xffffffffu, v, 3, 16);
  o[2] = __shfl_down_sync(0xffffffffu, v, 2, 4);
  o[3] = __shfl_xor_sync(0xffffffffu, v, 6, 32);
}
