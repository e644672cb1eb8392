// SPDX-License-Identifier: Apache-2.0
// Atomic operations on 128 bits and on vectors, a cluster of one block, an elected lane, cache policies.
// nvcc: -gencode arch=compute_90,code=compute_90 -std=c++17
#include <cooperative_groups.h>

#include "check.h"

struct alignas(16) Pair {
  unsigned long long count, sum;
};

// Both halves change together: a sum that does not go with its count is never seen.
__global__ void count_and_sum(Pair *pair, int *torn) {
#if __CUDA_ARCH__ >= 900
  unsigned long long id = blockIdx.x * blockDim.x + threadIdx.x + 1;
  unsigned long long low = 0, high = 0;
  while (true) {
    unsigned long long seen_low, seen_high;
    asm volatile(
        "{ .reg .b128 old, compare, next;\n\t"
        "mov.b128 compare, {%3, %4};\n\t"
        "mov.b128 next, {%5, %6};\n\t"
        "atom.global.cas.b128 old, [%2], compare, next;\n\t"
        "mov.b128 {%0, %1}, old; }"
        : "=l"(seen_low), "=l"(seen_high)
        : "l"(pair), "l"(low), "l"(high), "l"(low + 1), "l"(high + id)
        : "memory");
    if (seen_low == 0 && seen_high != 0 || seen_high < seen_low) atomicAdd(torn, 1);
    if (seen_low == low && seen_high == high) return;
    low = seen_low;
    high = seen_high;
  }
#endif
}

// Each thread puts its pair into the cell and takes out another one: in the end each is somewhere once.
__global__ void pass_on(Pair *cell, Pair *taken) {
#if __CUDA_ARCH__ >= 900
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long low, high;
  asm volatile(
      "{ .reg .b128 mine, other;\n\t"
      "mov.b128 mine, {%3, %4};\n\t"
      "atom.global.exch.b128 other, [%2], mine;\n\t"
      "mov.b128 {%0, %1}, other; }"
      : "=l"(low), "=l"(high)
      : "l"(cell), "l"((unsigned long long)id), "l"(id * 3ull)
      : "memory");
  taken[id] = {low, high};
#endif
}

__global__ void add_vectors(float4 *sums, float2 *pairs) {
#if __CUDA_ARCH__ >= 900
  float x = threadIdx.x % 8;
  atomicAdd(sums, make_float4(x, 2 * x, 3 * x, 1));
  float2 old = atomicAdd(pairs, make_float2(1, -x));
  if (old.x < 0) sums->x = -1;
#endif
}

__global__ void alone_in_cluster(int *out) {
#if __CUDA_ARCH__ >= 900
  namespace cg = cooperative_groups;
  __shared__ int values[64];
  cg::cluster_group cluster = cg::this_cluster();
  values[threadIdx.x] = threadIdx.x * 5;
  auto token = cluster.barrier_arrive();
  cluster.barrier_wait(std::move(token));
  int *mapped = cluster.map_shared_rank(values, 0);
  int neighbour = mapped[(threadIdx.x + 1) % 64];
  unsigned rank = cluster.query_shared_rank(values), leader = 0, is_leader;
  asm volatile(
      "{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }"
      : "=r"(leader), "=r"(is_leader));
  bool elected = is_leader == (threadIdx.x % 32 == leader);
  cluster.sync();
  bool right = neighbour == (threadIdx.x + 1) % 64 * 5 && rank == 0 && elected &&
               cluster.num_blocks() == 1 && cluster.block_rank() == 0 && cluster.num_threads() == 64;
  out[blockIdx.x * 64 + threadIdx.x] = right;
#endif
}

__global__ void with_policies(const int *in, int *out) {
#if __CUDA_ARCH__ >= 900
  int i = blockIdx.x * blockDim.x + threadIdx.x, value;
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 0.5;" : "=l"(policy));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i));
  asm volatile("ld.global.L2::cache_hint.L2::128B.s32 %0, [%1], %2;" : "=r"(value) : "l"(in + i), "l"(policy));
  asm volatile("st.global.L1::no_allocate.L2::cache_hint.s32 [%0], %1, %2;" ::"l"(out + i), "r"(value + 1),
      "l"(policy)
      : "memory");
#endif
}

int main() {
  const int blocks = 8, threads = 64, count = blocks * threads;
  Pair *pair = device_copy(std::vector<Pair>{{0, 0}});
  int *torn = device_copy(std::vector<int>{0});
  count_and_sum<<<blocks, threads>>>(pair, torn);
  launched();
  Pair result = host_copy(pair, 1)[0];
  REQUIRE(result.count == count && result.sum == count * (count + 1ull) / 2, "%llu threads, sum %llu",
      result.count, result.sum);
  REQUIRE(host_copy(torn, 1)[0] == 0, "a pair came apart");

  Pair *cell = device_copy(std::vector<Pair>{{count, 3ull * count}});
  Pair *taken = device_copy(std::vector<Pair>(count));
  pass_on<<<blocks, threads>>>(cell, taken);
  launched();
  std::vector<Pair> all = host_copy(taken, count);
  all.push_back(host_copy(cell, 1)[0]);
  std::vector<int> seen(count + 1);
  for (Pair one : all) {
    REQUIRE(one.count <= count && one.sum == 3 * one.count, "pair of %llu and %llu", one.count, one.sum);
    REQUIRE(seen[one.count]++ == 0, "pair %llu is there twice", one.count);
  }

  float4 *sums = device_copy(std::vector<float4>{{0, 0, 0, 0}});
  float2 *pairs = device_copy(std::vector<float2>{{0, 0}});
  add_vectors<<<blocks, threads>>>(sums, pairs);
  launched();
  float4 sum = host_copy(sums, 1)[0];
  float2 two = host_copy(pairs, 1)[0];
  float once = count * 3.5f;
  REQUIRE(sum.x == once && sum.y == 2 * once && sum.z == 3 * once && sum.w == count, "sums %g %g %g %g",
      sum.x, sum.y, sum.z, sum.w);
  REQUIRE(two.x == count && two.y == -once, "sums %g %g", two.x, two.y);

  int *flags = device_copy(std::vector<int>(count));
  alone_in_cluster<<<blocks, threads>>>(flags);
  launched();
  for (int flag : host_copy(flags, count)) REQUIRE(flag == 1, "a thread sees another cluster");

  std::vector<int> in(count), expected(count);
  for (int i = 0; i < count; i++) in[i] = i * 7, expected[i] = in[i] + 1;
  int *source = device_copy(in);
  with_policies<<<blocks, threads>>>(source, flags);
  launched();
  require_equal(host_copy(flags, count), expected);
  for (void *memory : {(void *)pair, (void *)torn, (void *)cell, (void *)taken, (void *)sums, (void *)pairs,
           (void *)flags, (void *)source}) {
    CHECK(cudaFree(memory));
  }
  return ok("%d threads exchanged %zu pairs", count, all.size());
}
