// SPDX-License-Identifier: Apache-2.0
// Clocks of threads: they only go forward, agree with each other and with the clock rate, and kernels that
// wait for a time wait at least as long, all threads of a block at once.
#include "check.h"

__device__ unsigned long long global_time() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__global__ void read_clocks(int *wrong) {
  long long last = clock64();
  unsigned long long lastTime = global_time();
  for (int i = 0; i < 1000; i++) {
    unsigned int low = clock();
    long long now = clock64();
    unsigned long long time = global_time();
    // The short clock is the low half of the long one.
    bool between = low - static_cast<unsigned int>(last) <= now - last;
    if (now < last || time < lastTime || !between) atomicAdd(wrong, 1);
    last = now;
    lastTime = time;
  }
}

__global__ void wait(long long ticks, long long *waited) {
  long long start = clock64(), now = start;
  while (now - start < ticks) now = clock64();
  waited[blockIdx.x * blockDim.x + threadIdx.x] = now - start;
}

// The load is a plain one: nothing but the clock tells that the loop waits.
__device__ int plainly(const int *value) {
  int read;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(read) : "l"(value));
  return read;
}

__global__ void gather(int *arrived, long long patience, int *met) {
  atomicAdd(&arrived[blockIdx.x], 1);
  long long start = clock64();
  bool all = false;
  while (!all && clock64() - start < patience) all = plainly(&arrived[blockIdx.x]) == blockDim.x;
  if (all) atomicAdd(met, 1);
}

int main() {
  const int blocks = 8, threads = 256;
  int *numbers, kilohertz;
  long long *waited;
  CHECK(cudaMalloc(&numbers, (blocks + 1) * sizeof(int)));
  CHECK(cudaMalloc(&waited, blocks * threads * sizeof(long long)));
  CHECK(cudaMemset(numbers, 0, (blocks + 1) * sizeof(int)));
  CHECK(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0));

  read_clocks<<<4, 64>>>(numbers);
  REQUIRE(host_copy(numbers, 1)[0] == 0, "%d clocks went back", host_copy(numbers, 1)[0]);

  long long ticks = kilohertz / 100;  // 10 us
  wait<<<blocks, threads>>>(ticks, waited);
  for (long long each : host_copy(waited, blocks * threads)) {
    REQUIRE(each >= ticks, "a thread waited %lld of %lld ticks", each, ticks);
  }

  // Events see the time that one thread waits.
  cudaEvent_t before, after;
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreate(&after));
  CHECK(cudaEventRecord(before));
  wait<<<1, 1>>>(20LL * kilohertz, waited);
  CHECK(cudaEventRecord(after));
  CHECK(cudaEventSynchronize(after));
  float millis;
  CHECK(cudaEventElapsedTime(&millis, before, after));
  REQUIRE(millis > 19.9f, "a wait of 20 ms took %f ms", millis);

  gather<<<blocks, threads>>>(numbers + 1, 20'000LL * kilohertz, numbers);
  int met = host_copy(numbers, 1)[0];
  REQUIRE(met == blocks * threads, "%d of %d threads met", met, blocks * threads);
  CHECK(cudaEventDestroy(before));
  CHECK(cudaEventDestroy(after));
  CHECK(cudaFree(waited));
  CHECK(cudaFree(numbers));
  return ok("clocks go forward, waits take their time, and %d threads wait at once", met);
}
