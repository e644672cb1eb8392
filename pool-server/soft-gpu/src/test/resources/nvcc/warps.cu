// SPDX-License-Identifier: Apache-2.0
// Warps, groups, barriers and asynchronous copies.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

extern "C" __global__ void warp_functions(int *d, long long *e) {
  int x = d[threadIdx.x];
  long long y = e[threadIdx.x];
  unsigned m = __activemask();
  d[0] = __shfl_sync(m, x, 3) + __shfl_up_sync(m, x, 1, 8) + __shfl_down_sync(m, x, 2) + __shfl_xor_sync(m, x, 4);
  d[1] = __all_sync(m, x) + __any_sync(m, x) + __ballot_sync(m, x > 3);
  int p;
  d[2] = __match_any_sync(m, x) + __match_any_sync(m, y) + __match_all_sync(m, x, &p) + p;
  d[3] = __match_all_sync(m, y, &p) + p;
#if __CUDA_ARCH__ >= 800
  d[4] = __reduce_add_sync(m, x) + __reduce_min_sync(m, x) + __reduce_max_sync(m, (unsigned)x) + __reduce_and_sync(m, (unsigned)x) + __reduce_or_sync(m, (unsigned)x) + __reduce_xor_sync(m, (unsigned)x);
#endif
  __syncwarp();
  d[5] = __syncthreads_count(x) + __syncthreads_and(x) + __syncthreads_or(x);
  d[6] = __fns(m, 0, 2) + __popc(m) + __clz(x) + __ffsll(y) + __brev(x) + __byte_perm(x, m, 0x5410);
  __nanosleep(20);
  d[7] = clock() + clock64() + __isGlobal(d) + __isShared(d) + __isLocal(d) + __isConstant(d);
}

extern "C" __global__ void groups(int *d) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  auto together = cg::coalesced_threads();
  int x = d[threadIdx.x];
  d[1] = cg::reduce(tile, x, cg::plus<int>()) + cg::reduce(together, x, cg::less<int>()) + cg::inclusive_scan(tile, x) + cg::exclusive_scan(together, x);
  auto labeled = cg::labeled_partition(tile, x & 1);
  d[2] = labeled.size() + labeled.thread_rank();
  auto halves = cg::binary_partition(tile, x > 2);
  d[3] = halves.shfl(x, 0) + tile.ballot(x) + tile.match_any(x) + block.thread_rank();
  block.sync();
  cg::this_grid().sync();
}

extern "C" __global__ void copies(const int *from, int *to, const int4 *wide) {
  __shared__ int tile[256];
  __shared__ int4 tiles[64];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, from, sizeof(tile));
  cg::wait(block);
  __pipeline_memcpy_async(&tiles[threadIdx.x & 63], &wide[threadIdx.x], 16);
  __pipeline_memcpy_async(&tile[threadIdx.x], &from[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __pipeline_wait_prior(0);
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(block, tile, from, cuda::aligned_size_t<16>(1024), bar);
  bar.arrive_and_wait();
  auto token = bar.arrive();
  bar.wait(std::move(token));
  bar.arrive_and_drop();
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&tile[threadIdx.x], &from[threadIdx.x], 4, pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  pipe.consumer_release();
  to[threadIdx.x] = tile[threadIdx.x] + tiles[0].x;
}
