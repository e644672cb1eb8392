// SPDX-License-Identifier: Apache-2.0
// Clusters of blocks: a histogram whose bins are spread over the shared memory of a cluster, sums
// handed round by cooperative groups, and what the launch's attributes and occupancy say.
// nvcc: -gencode arch=compute_90,code=compute_90 -std=c++17
#include <cooperative_groups.h>

#include "check.h"

// Code for GPUs before 9.0, which is compiled beside it, knows no clusters.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define FIXED_CLUSTER __cluster_dims__(2, 2, 1)
#else
#define FIXED_CLUSTER
#endif

namespace cg = cooperative_groups;

static const int BINS = 512;
static const int COUNT = 20000;

// The bins of a cluster lie in turn in its blocks' shared memory.
__global__ void histogram(const int *data, int count, int *bins) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ int mine[];
  cg::cluster_group cluster = cg::this_cluster();
  int each = BINS / cluster.num_blocks();
  for (int i = threadIdx.x; i < each; i += blockDim.x) mine[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    int bin = data[i];
    atomicAdd(cluster.map_shared_rank(mine, bin / each) + bin % each, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < each; i += blockDim.x) {
    atomicAdd(bins + cluster.block_rank() * each + i, mine[i]);
  }
#endif
}

// Each block adds up the numbers of all blocks of its cluster, read from their shared memory.
__global__ void FIXED_CLUSTER sums(int *out, int *ranks) {
#if __CUDA_ARCH__ >= 900
  __shared__ int value[32];
  cg::cluster_group cluster = cg::this_cluster();
  int block = blockIdx.y * gridDim.x + blockIdx.x;
  value[threadIdx.x] = block * 100 + threadIdx.x;
  cg::cluster_group::arrival_token token = cluster.barrier_arrive();
  if (threadIdx.x == 0) ranks[block] = cluster.block_rank() + 10 * cluster.num_blocks();
  cluster.barrier_wait(std::move(token));
  int sum = 0;
  for (unsigned rank = 0; rank < cluster.num_blocks(); rank++) {
    sum += cluster.map_shared_rank(value, rank)[threadIdx.x];
  }
  out[block * 32 + threadIdx.x] = sum;
  cluster.sync();
#endif
}

static cudaLaunchConfig_t in_clusters(
    int blocks, int threads, int cluster, cudaLaunchAttribute *attribute) {
  attribute->id = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim.x = cluster;
  attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = BINS / cluster * sizeof(int);
  config.attrs = attribute;
  config.numAttrs = 1;
  return config;
}

int main() {
  Numbers numbers(11);
  std::vector<int> data(COUNT), expected(BINS);
  for (int &value : data) {
    value = numbers.next() % BINS;
    expected[value]++;
  }
  int *device = device_copy(data), *bins = device_copy(std::vector<int>(BINS)), launches = 0;
  int supported;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrClusterLaunch, 0));
  REQUIRE(supported == 1, "the device has no clusters");
  cudaLaunchAttribute attribute;
  for (int cluster = 1; cluster <= 8; cluster *= 2) {
    cudaLaunchConfig_t config = in_clusters(16, 128, cluster, &attribute);
    int active, most;
    CHECK(cudaOccupancyMaxActiveClusters(&active, histogram, &config));
    CHECK(cudaOccupancyMaxPotentialClusterSize(&most, histogram, &config));
    REQUIRE(active > 0 && most >= 8, "%d clusters of %d, %d at most", active, cluster, most);
    CHECK(cudaMemset(bins, 0, BINS * sizeof(int)));
    CHECK(cudaLaunchKernelEx(&config, histogram, (const int *)device, COUNT, bins));
    require_equal(host_copy(bins, BINS), expected);
    launches++;
  }

  cudaLaunchConfig_t large = in_clusters(16, 128, 16, &attribute);
  cudaError_t refused = cudaLaunchKernelEx(&large, histogram, (const int *)device, COUNT, bins);
  // Where launches are posted, the next call that waits returns the error.
  EXPECT(cudaErrorInvalidClusterSize, refused == cudaSuccess ? cudaDeviceSynchronize() : refused);
  cudaGetLastError();
  CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CHECK(cudaMemset(bins, 0, BINS * sizeof(int)));
  CHECK(cudaLaunchKernelEx(&large, histogram, (const int *)device, COUNT, bins));
  require_equal(host_copy(bins, BINS), expected);

  int *out = device_copy(std::vector<int>(16 * 32)), *ranks = device_copy(std::vector<int>(16));
  sums<<<dim3(4, 4), 32>>>(out, ranks);
  launched();
  std::vector<int> sum(16 * 32), rank(16);
  for (int block = 0; block < 16; block++) {
    int x = block % 4, y = block / 4, first = y / 2 * 2 * 4 + x / 2 * 2;
    rank[block] = x % 2 + y % 2 * 2 + 40;
    for (int thread = 0; thread < 32; thread++) {
      sum[block * 32 + thread] = 100 * (4 * first + 1 + 4 + 5) + 4 * thread;
    }
  }
  require_equal(host_copy(ranks, 16), rank);
  require_equal(host_copy(out, 16 * 32), sum);

  // In a graph.
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMemset(bins, 0, BINS * sizeof(int)));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cudaLaunchConfig_t config = in_clusters(8, 64, 4, &attribute);
  config.stream = stream;
  CHECK(cudaLaunchKernelEx(&config, histogram, (const int *)device, COUNT, bins));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int &value : expected) value *= 2;
  require_equal(host_copy(bins, BINS), expected);
  return ok("%d bins in clusters of 1 to 16 blocks, %d launches", BINS, launches);
}
