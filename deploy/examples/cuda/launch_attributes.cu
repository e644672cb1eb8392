// SPDX-License-Identifier: Apache-2.0
// Attributes of launches and of streams, and priorities: what is set can be read, and the kernels do their work.
// nvcc: -std=c++17
#include <cooperative_groups.h>

#include "check.h"

__global__ void add(int *values, int value) {
  atomicAdd(&values[blockIdx.x * blockDim.x + threadIdx.x], value);
}

__global__ void across_blocks(int *values, int *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] += 1;
  cooperative_groups::this_grid().sync();
  if (i == 0) {
    *sum = 0;
    for (unsigned k = 0; k < gridDim.x * blockDim.x; k++) *sum += values[k];
  }
}

static const int blocks = 4, threads = 64, count = blocks * threads;

static cudaLaunchAttribute attribute_of(cudaLaunchAttributeID id) {
  cudaLaunchAttribute attribute{};
  attribute.id = id;
  return attribute;
}

static void priorities() {
  int least, greatest, priority;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  REQUIRE(greatest <= least, "priorities from %d to %d", least, greatest);
  // Priorities beyond the range are clamped to it.
  for (int wanted = greatest - 1; wanted <= least + 1; wanted++) {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, wanted));
    CHECK(cudaStreamGetPriority(stream, &priority));
    int expected = wanted < greatest ? greatest : wanted > least ? least : wanted;
    REQUIRE(priority == expected, "priority %d becomes %d", wanted, priority);
    unsigned flags;
    CHECK(cudaStreamGetFlags(stream, &flags));
    REQUIRE(flags == cudaStreamNonBlocking, "flags %x", flags);
    CHECK(cudaStreamDestroy(stream));
  }
}

static void stream_attributes(cudaStream_t stream) {
  cudaStreamAttrValue value{}, read{};
  value.syncPolicy = cudaSyncPolicyYield;
  CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
  CHECK(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &read));
  REQUIRE(read.syncPolicy == cudaSyncPolicyYield, "policy %d", read.syncPolicy);
  cudaStream_t other;
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaStreamCopyAttributes(other, stream));
  read = {};
  CHECK(cudaStreamGetAttribute(other, cudaStreamAttributeSynchronizationPolicy, &read));
  REQUIRE(read.syncPolicy == cudaSyncPolicyYield, "the copied policy is %d", read.syncPolicy);
  CHECK(cudaStreamDestroy(other));
}

int main() {
  priorities();
  int *values = device_copy(std::vector<int>(count, 0)), *sum;
  CHECK(cudaMalloc(&sum, sizeof(int)));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  stream_attributes(stream);

  std::vector<cudaLaunchAttribute> attributes;
  attributes.push_back(attribute_of(cudaLaunchAttributePriority));
  attributes.back().val.priority = 0;
  attributes.push_back(attribute_of(cudaLaunchAttributeProgrammaticStreamSerialization));
  attributes.back().val.programmaticStreamSerializationAllowed = 1;
  attributes.push_back(attribute_of(cudaLaunchAttributeMemSyncDomain));
  attributes.back().val.memSyncDomain = cudaLaunchMemSyncDomainRemote;
  attributes.push_back(attribute_of(cudaLaunchAttributePreferredSharedMemoryCarveout));
  attributes.back().val.sharedMemCarveout = 50;
  attributes.push_back(attribute_of(cudaLaunchAttributeIgnore));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  // Each alone, then all together.
  for (size_t i = 0; i <= attributes.size(); i++) {
    config.attrs = &attributes[i == attributes.size() ? 0 : i];
    config.numAttrs = i == attributes.size() ? unsigned(i) : 1;
    cudaError_t error = cudaLaunchKernelEx(&config, add, values, 1);
    REQUIRE(error == cudaSuccess, "attribute %zu gives %s", i, cudaGetErrorName(error));
  }
  int sum_expected = int(attributes.size()) + 1;
  CHECK(cudaStreamSynchronize(stream));
  require_equal(host_copy(values, count), std::vector<int>(count, sum_expected));

  cudaLaunchAttribute cooperative = attribute_of(cudaLaunchAttributeCooperative);
  cooperative.val.cooperative = 1;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, across_blocks, values, sum));
  CHECK(cudaStreamSynchronize(stream));
  int total = host_copy(sum, 1)[0];
  REQUIRE(total == count * (sum_expected + 1), "the sum is %d", total);

  // Attributes of the function itself.
  CHECK(cudaFuncSetAttribute(add, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
  CHECK(cudaFuncSetCacheConfig(add, cudaFuncCachePreferL1));
  cudaFuncAttributes function;
  CHECK(cudaFuncGetAttributes(&function, add));
  REQUIRE(function.preferredShmemCarveout == 100, "the carveout is %d", function.preferredShmemCarveout);
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(values));
  CHECK(cudaFree(sum));
  return ok("%zu attributes, priorities, policies", attributes.size());
}
