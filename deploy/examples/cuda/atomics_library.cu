// SPDX-License-Identifier: Apache-2.0
// libcu++: atomics with scopes and orders, references to plain memory, semaphores, latches, wait and notify.
// nvcc: -std=c++17
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>

#include "check.h"

template <typename T>
using device_atomic = cuda::atomic<T, cuda::thread_scope_device>;

struct State {
  device_atomic<int> count;
  device_atomic<unsigned long long> bits;
  device_atomic<double> sum;
  device_atomic<int> least;
  device_atomic<bool> published;
  cuda::counting_semaphore<cuda::thread_scope_device, 3> places;
  device_atomic<int> within, most;
  int message;
};

struct Pair {
  int a, b;
};

__global__ void start(State *state) {
  new (&state->count) device_atomic<int>(0);
  new (&state->bits) device_atomic<unsigned long long>(0);
  new (&state->sum) device_atomic<double>(0);
  new (&state->least) device_atomic<int>(1 << 30);
  new (&state->published) device_atomic<bool>(false);
  new (&state->places) cuda::counting_semaphore<cuda::thread_scope_device, 3>(3);
  new (&state->within) device_atomic<int>(0);
  new (&state->most) device_atomic<int>(0);
}

__global__ void update(State *state, int *plain, Pair *pair) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  state->count.fetch_add(i, cuda::memory_order_relaxed);
  state->bits.fetch_xor(1ull << i % 64);
  state->sum += 0.25;
  state->least.fetch_min(1000 - i);
  cuda::atomic_ref<int, cuda::thread_scope_device>(plain[i % 8]).fetch_add(1, cuda::memory_order_acq_rel);
  // A structure of two words, by compare and exchange.
  cuda::atomic_ref<Pair, cuda::thread_scope_device> both(*pair);
  Pair old = both.load();
  while (!both.compare_exchange_weak(old, Pair{old.a + 1, old.b - i})) {
  }
}

// Writes before a release are visible after the acquire; half of the threads wait for the other block.
__global__ void publish(State *state, int *seen) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      state->message = 4711;
      state->published.store(true, cuda::memory_order_release);
      state->published.notify_all();
    }
  } else {
    state->published.wait(false, cuda::memory_order_acquire);
    seen[threadIdx.x] = state->message;
  }
}

// No more than three at a time.
__global__ void take_turns(State *state) {
  state->places.acquire();
  int now = state->within.fetch_add(1) + 1;
  state->most.fetch_max(now);
  state->within.fetch_sub(1);
  state->places.release();
}

__global__ void meet(int *values, int *out) {
  using block_latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(block_latch) char memory[sizeof(block_latch)];
  auto *latch = reinterpret_cast<block_latch *>(memory);
  if (threadIdx.x == 0) new (latch) block_latch(blockDim.x);
  __syncthreads();
  values[threadIdx.x] *= 2;
  latch->arrive_and_wait();
  out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

int main() {
  const int blocks = 6, threads = 64, count = blocks * threads;
  State *state;
  CHECK(cudaMallocManaged(&state, sizeof(State)));
  int *plain = device_copy(std::vector<int>(8, 0));
  Pair *pair = device_copy(std::vector<Pair>(1, Pair{0, 0}));
  start<<<1, 1>>>(state);
  update<<<blocks, threads>>>(state, plain, pair);
  launched();
  CHECK(cudaDeviceSynchronize());
  unsigned long long bits = 0;
  for (int i = 0; i < count; i++) bits ^= 1ull << i % 64;
  REQUIRE(state->count.load() == count * (count - 1) / 2, "the count is %d", state->count.load());
  REQUIRE(state->bits.load() == bits, "the bits are %llx", state->bits.load());
  REQUIRE(state->sum.load() == count * 0.25, "the sum is %g", state->sum.load());
  REQUIRE(state->least.load() == 1000 - count + 1, "the least is %d", state->least.load());
  require_equal(host_copy(plain, 8), std::vector<int>(8, count / 8));
  Pair sums = host_copy(pair, 1)[0];
  REQUIRE(sums.a == count && sums.b == -count * (count - 1) / 2, "the pair is %d, %d", sums.a, sums.b);

  int *seen = device_copy(std::vector<int>(threads, 0)), *out = device_copy(std::vector<int>(threads, 0));
  publish<<<2, threads>>>(state, seen);
  take_turns<<<blocks, threads>>>(state);
  launched();
  require_equal(host_copy(seen, threads), std::vector<int>(threads, 4711));
  int most = state->most.load();
  REQUIRE(most >= 1 && most <= 3 && state->within.load() == 0, "%d were there at once", most);
  meet<<<1, threads>>>(seen, out);
  launched();
  require_equal(host_copy(out, threads), std::vector<int>(threads, 9422));
  CHECK(cudaFree(state));
  CHECK(cudaFree(plain));
  CHECK(cudaFree(pair));
  CHECK(cudaFree(seen));
  CHECK(cudaFree(out));
  return ok("%d threads, at most %d at once", count, most);
}
