// SPDX-License-Identifier: Apache-2.0
// Atomic operations; every block of 256 threads meets at the same words.

extern "C" __global__ void ints(int* w) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&w[0], t);
  atomicSub(&w[1], t);
  atomicMin(&w[2], t - 1000);
  atomicMax(&w[3], t);
  atomicAnd(&w[4], ~(1 << (t & 7)));
  atomicOr(&w[5], 1 << (t & 31));
  atomicXor(&w[6], t);
  atomicInc((unsigned*)&w[7], 99);
  atomicDec((unsigned*)&w[8], 77);
  if (atomicExch(&w[9], 1) == 0) w[10] = 1;
  atomicMin((unsigned*)&w[11], 0x80000000u + t);
  atomicMax((unsigned*)&w[12], 0x80000000u + t);
  int old = atomicAdd(&w[13], 1);
  w[16 + old] = 1;
  int seen = w[14], expected;
  do {
    expected = seen;
    seen = atomicCAS(&w[14], expected, expected + 2);
  } while (seen != expected);
}

extern "C" __global__ void wide(unsigned long long* w, double* d, float* f) {
  unsigned long long t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&w[0], t << 20);
  atomicMin(&w[1], ~t);
  atomicMax((long long*)&w[2], (long long)t - 5);
  atomicAnd(&w[3], ~(1ull << (t & 63)));
  atomicOr(&w[4], 1ull << (t & 63));
  atomicXor(&w[5], t << 32);
  atomicExch(&w[6], t);
  atomicAdd(d, 0.5);
  atomicAdd(f, 1.0f);
  unsigned long long seen = w[7], expected;
  do {
    expected = seen;
    seen = atomicCAS(&w[7], expected, expected + 3);
  } while (seen != expected);
}

extern "C" __global__ void shared(int* out) {
  __shared__ int sum;
  __shared__ unsigned long long wide;
  __shared__ float single;
  if (threadIdx.x == 0) {
    sum = 0;
    wide = 0;
    single = 0;
  }
  __syncthreads();
  int old = atomicAdd(&sum, 3);
  atomicAdd(&wide, 1ull << 33);
  atomicAdd(&single, 0.25f);
  atomicMax(&sum, 0);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[0] = sum;
    out[1] = (int)(wide >> 33);
    out[2] = (int)single;
  }
  out[3 + old / 3] = 1;
}

extern "C" __global__ void narrow(unsigned short* w) {
  unsigned short seen = w[1], expected;
  do {
    expected = seen;
    seen = atomicCAS(&w[1], expected, (unsigned short)(expected + 1));
  } while (seen != expected);
}
