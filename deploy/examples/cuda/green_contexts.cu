// SPDX-License-Identifier: Apache-2.0
// Green contexts: a GPU's multiprocessors split, contexts made of the parts, streams of them side by side, memory and
// kernels that they share with the primary context.
#include "driver_entry.h"

__device__ int rounds;

__global__ void fill(int *values, int count, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = first + i;
  if (i == 0) atomicAdd(&rounds, 1);
}

__global__ void add(int *values, const int *others, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += others[i];
}

__global__ void linger(unsigned *sink, unsigned seed) {
  for (int i = 0; i < 20000000; i++) seed = seed * 1664525 + 1013904223;
  *sink = seed;
}

constexpr int kCount = 100000;
constexpr int kBlocks = (kCount + 255) / 256;

static CUdevResource whole() {
  CUdevResource resource{};
  DRIVER(ENTRY(cuDeviceGetDevResource)(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
  REQUIRE(resource.type == CU_DEV_RESOURCE_TYPE_SM && resource.sm.smCount > 0 &&
          resource.sm.minSmPartitionSize > 0,
      "the GPU has %u multiprocessors, in partitions of %u", resource.sm.smCount,
      resource.sm.minSmPartitionSize);
  return resource;
}

static CUgreenCtx green_of(CUdevResource *resources, unsigned count) {
  CUdevResourceDesc description;
  CUgreenCtx green;
  DRIVER(ENTRY(cuDevResourceGenerateDesc)(&description, resources, count));
  DRIVER(ENTRY(cuGreenCtxCreate)(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  return green;
}

static unsigned multiprocessors(CUgreenCtx green) {
  CUdevResource resource{};
  DRIVER(ENTRY(cuGreenCtxGetDevResource)(green, &resource, CU_DEV_RESOURCE_TYPE_SM));
  return resource.sm.smCount;
}

// Two streams of two partitions, waiting for each other, on memory of the primary context.
static void side_by_side(CUgreenCtx left, CUgreenCtx right, int *a, int *b) {
  CUstream streams[2];
  CUevent done;
  DRIVER(ENTRY(cuGreenCtxStreamCreate)(&streams[0], left, CU_STREAM_NON_BLOCKING, 0));
  DRIVER(ENTRY(cuGreenCtxStreamCreate)(&streams[1], right, CU_STREAM_NON_BLOCKING, -1));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuGreenCtxStreamCreate)(&streams[0], left, 0, 0));
  DRIVER(ENTRY(cuEventCreate)(&done, CU_EVENT_DISABLE_TIMING));
  fill<<<kBlocks, 256, 0, streams[0]>>>(a, kCount, 1);
  fill<<<kBlocks, 256, 0, streams[1]>>>(b, kCount, 2);
  DRIVER(ENTRY(cuGreenCtxRecordEvent)(right, done));
  DRIVER(ENTRY(cuGreenCtxWaitEvent)(left, done));
  add<<<kBlocks, 256, 0, streams[0]>>>(a, b, kCount);
  DRIVER(ENTRY(cuStreamSynchronize)(streams[0]));
  std::vector<int> sums = host_copy(a, kCount);
  for (int i = 0; i < kCount; i++) REQUIRE(sums[i] == 2 * i + 3, "sum %d is %d", i, sums[i]);

  CUgreenCtx of = nullptr;
  CUcontext context = nullptr, primary = nullptr;
  DRIVER(ENTRY(cuStreamGetGreenCtx)(streams[1], &of));
  REQUIRE(of == right, "a stream is another green context's");
  DRIVER(ENTRY(cuCtxGetCurrent)(&primary));
  of = nullptr;
  DRIVER(driver_entry<decltype(cuStreamGetCtx_v2)>("cuStreamGetCtx")(streams[0], &context, &of));
  REQUIRE(of == left && context == primary, "a stream's contexts are others");
  DRIVER(ENTRY(cuStreamGetGreenCtx)(nullptr, &of));
  REQUIRE(!of, "the primary context's stream is a green context's");
  DRIVER(ENTRY(cuEventDestroy)(done));
  for (CUstream stream : streams) DRIVER(ENTRY(cuStreamDestroy)(stream));
}

// No stream of a green context waits for the primary context's default stream: a copy there that the program has
// waited for has to be done.
static void after_copy(CUgreenCtx green, int *a) {
  CUstream stream;
  std::vector<int> values(1000, 9);
  DRIVER(ENTRY(cuGreenCtxStreamCreate)(&stream, green, CU_STREAM_NON_BLOCKING, 0));
  int *copied = device_copy(std::vector<int>(values.size()));
  fill<<<kBlocks, 256, 0, stream>>>(a, kCount, 0);
  unsigned *sink = device_copy(std::vector<unsigned>(1));
  linger<<<1, 1>>>(sink, 1);
  CHECK(cudaMemcpy(copied, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice));
  add<<<kBlocks, 256, 0, stream>>>(a, copied, static_cast<int>(values.size()));
  DRIVER(ENTRY(cuStreamSynchronize)(stream));
  std::vector<int> sums = host_copy(a, static_cast<int>(values.size()));
  for (size_t i = 0; i < sums.size(); i++) {
    REQUIRE(sums[i] == static_cast<int>(i) + 9, "a copy came late: %d", sums[i]);
  }
  CHECK(cudaFree(copied));
  CHECK(cudaFree(sink));
  DRIVER(ENTRY(cuStreamDestroy)(stream));
}

// A resource of one GPU is not valid on another, even if both are alike.
static void other_gpus(CUdevResource *all) {
  int gpus = 0;
  CHECK(cudaGetDeviceCount(&gpus));
  for (int gpu = 1; gpu < gpus; gpu++) {
    CUdevResource other{};
    CUdevResourceDesc description;
    CUgreenCtx green;
    DRIVER(ENTRY(cuDeviceGetDevResource)(gpu, &other, CU_DEV_RESOURCE_TYPE_SM));
    DRIVER(ENTRY(cuDevResourceGenerateDesc)(&description, &other, 1));
    REFUSED(CUDA_ERROR_INVALID_VALUE,
        ENTRY(cuGreenCtxCreate)(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    DRIVER(ENTRY(cuGreenCtxDestroy)(green_of(all, 1)));
  }
}

// Made current, it takes the primary context's place.
static void made_current(CUgreenCtx green, int *a) {
  CUcontext context, before, now;
  unsigned long long id = 0, other = 0;
  DRIVER(ENTRY(cuCtxGetCurrent)(&before));
  DRIVER(ENTRY(cuCtxFromGreenCtx)(&context, green));
  DRIVER(ENTRY(cuCtxPushCurrent)(context));
  DRIVER(ENTRY(cuCtxGetCurrent)(&now));
  REQUIRE(now == context, "another context is current");
  CUdevResource resource{};
  DRIVER(ENTRY(cuCtxGetDevResource)(context, &resource, CU_DEV_RESOURCE_TYPE_SM));
  REQUIRE(resource.sm.smCount == multiprocessors(green), "its context has %u multiprocessors",
      resource.sm.smCount);

  CUdeviceptr memory;
  CUstream stream;
  DRIVER(ENTRY(cuMemAlloc)(&memory, kCount * sizeof(int)));
  int *values = reinterpret_cast<int *>(memory);
  fill<<<kBlocks, 256>>>(values, kCount, 7);
  launched();
  DRIVER(ENTRY(cuStreamCreate)(&stream, CU_STREAM_DEFAULT));
  // Waits for the default stream, as streams do.
  add<<<kBlocks, 256, 0, stream>>>(values, a, kCount);
  CHECK(cudaDeviceSynchronize());
  DRIVER(ENTRY(cuStreamQuery)(stream));
  CUgreenCtx of = nullptr;
  DRIVER(ENTRY(cuStreamGetGreenCtx)(stream, &of));
  REQUIRE(of == green, "a stream made in it is not its own");
  DRIVER(ENTRY(cuStreamDestroy)(stream));
  DRIVER(ENTRY(cuCtxPopCurrent)(&now));
  REQUIRE(now == context, "another context was current");
  DRIVER(ENTRY(cuCtxGetCurrent)(&now));
  REQUIRE(now == before, "the one before is not current again");

  std::vector<int> sums = host_copy(values, kCount);
  for (int i = 0; i < kCount; i++) REQUIRE(sums[i] == 3 * i + 10, "in it sum %d is %d", i, sums[i]);
  DRIVER(ENTRY(cuMemFree)(memory));
  DRIVER(ENTRY(cuGreenCtxGetId)(green, &id));
  DRIVER(ENTRY(cuCtxGetId)(before, &other));
  REQUIRE(id != other, "both contexts are number %llu", id);
}

static void wrong_arguments(CUdevResource all) {
  CUdevResource none{}, some[2];
  unsigned groups = 1;
  REFUSED(CUDA_ERROR_INVALID_RESOURCE_TYPE,
      ENTRY(cuDeviceGetDevResource)(0, &none, CU_DEV_RESOURCE_TYPE_INVALID));
  REFUSED(CUDA_ERROR_INVALID_RESOURCE_TYPE,
      ENTRY(cuDevSmResourceSplitByCount)(some, &groups, &none, nullptr, 0, 1));
  REFUSED(CUDA_ERROR_INVALID_VALUE,
      ENTRY(cuDevSmResourceSplitByCount)(some, &groups, &all, nullptr, 0, all.sm.smCount + 1));
  CUgreenCtx green;
  CUdevResourceDesc description;
  DRIVER(ENTRY(cuDevResourceGenerateDesc)(&description, &all, 1));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuGreenCtxCreate)(&green, description, 0, 0));
}

int main() {
  CHECK(cudaFree(nullptr));
  CUdevResource all = whole(), rest{};
  unsigned most = 0;
  DRIVER(ENTRY(cuDevSmResourceSplitByCount)(
      nullptr, &most, &all, nullptr, 0, all.sm.minSmPartitionSize));
  REQUIRE(most >= 1 && most * all.sm.minSmPartitionSize <= all.sm.smCount, "%u groups of %u in %u",
      most, all.sm.minSmPartitionSize, all.sm.smCount);
  unsigned groups = 1;
  CUdevResource part{};
  DRIVER(ENTRY(cuDevSmResourceSplitByCount)(
      &part, &groups, &all, &rest, 0, all.sm.minSmPartitionSize));
  unsigned left = rest.type == CU_DEV_RESOURCE_TYPE_SM ? rest.sm.smCount : 0;
  REQUIRE(groups == 1 && part.sm.smCount >= all.sm.minSmPartitionSize &&
          part.sm.smCount + left <= all.sm.smCount,
      "%u groups: %u of %u, and %u", groups, part.sm.smCount, all.sm.smCount, left);

  CUgreenCtx first = green_of(&part, 1), second = green_of(left ? &rest : &all, 1);
  REQUIRE(multiprocessors(first) == part.sm.smCount, "the first one has %u multiprocessors",
      multiprocessors(first));
  int *a = device_copy(std::vector<int>(kCount)), *b = device_copy(std::vector<int>(kCount));
  side_by_side(first, second, a, b);
  made_current(first, a);
  after_copy(first, a);
  other_gpus(&all);
  wrong_arguments(all);
  int times = 0;
  CHECK(cudaMemcpyFromSymbol(&times, rounds, sizeof times));
  REQUIRE(times == 4, "the variable that they share is %d", times);
  DRIVER(ENTRY(cuGreenCtxDestroy)(first));
  DRIVER(ENTRY(cuGreenCtxDestroy)(second));
  fill<<<kBlocks, 256>>>(a, kCount, 5);
  launched();
  REQUIRE(host_copy(a, kCount)[kCount - 1] == kCount + 4, "without them the GPU is not as before");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return ok("%s", left ? "two partitions" : "one partition");
}
