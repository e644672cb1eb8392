// SPDX-License-Identifier: Apache-2.0
// Managed memory: host and kernels in turn on the same pointers, in structs that hold such pointers, in
// __managed__ variables, from several threads, with advice, and in the face of copies and fills.
#include "check.h"

#include <thread>

__managed__ int counter = 41;
__managed__ float table[300];

struct Node {
  int value;
  Node *next;
};

__global__ void increment(int *values, size_t count) {
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < count) {
    values[i] += 1;
  }
}

__global__ void follow(const Node *head, int *sum) {
  *sum = 0;
  for (const Node *node = head; node; node = node->next) {
    *sum += node->value;
  }
}

__global__ void use_variables() {
  table[threadIdx.x] = table[threadIdx.x] * 2 + threadIdx.x;
  if (threadIdx.x == 0) {
    counter++;
  }
}

static void attributes() {
  int managed = 0, mapped = 0, concurrent = 1;
  CHECK(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0));
  CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
  CHECK(cudaDeviceGetAttribute(&mapped, cudaDevAttrCanMapHostMemory, 0));
  REQUIRE(managed == 1 && mapped == 1, "managed memory %d, mapped memory %d", managed, mapped);
}

// Round after round, each side changes a part of what the other one did.
static void turns() {
  const size_t count = 3000001;
  int *values;
  CHECK(cudaMallocManaged(&values, count * sizeof(int)));
  for (size_t i = 0; i < count; i += 1013) {
    REQUIRE(values[i] == 0, "new managed memory holds %d", values[i]);
  }
  for (size_t i = 0; i < count; i++) {
    values[i] = static_cast<int>(i);
  }
  int added = 0;
  for (int round = 0; round < 5; round++) {
    increment<<<(count + 255) / 256, 256>>>(values, count);
    increment<<<(count + 255) / 256, 256>>>(values, count);
    launched();
    CHECK(cudaDeviceSynchronize());
    added += 2;
    for (size_t i = round; i < count; i += 4099) {
      REQUIRE(values[i] == static_cast<int>(i) + added, "round %d: element %zu is %d", round, i,
          values[i]);
    }
    for (size_t i = 0; i < count; i += 1000003) {
      values[i] += 10;
    }
    increment<<<(count + 255) / 256, 256>>>(values, count);
    CHECK(cudaDeviceSynchronize());
    added++;
    for (size_t i = 0; i < count; i += 1000003) {
      REQUIRE(values[i] == static_cast<int>(i) + added + 10, "element %zu is %d", i, values[i]);
      values[i] -= 10;
    }
  }
  CHECK(cudaFree(values));
}

static void lists() {
  Node *nodes;
  int *sum;
  CHECK(cudaMallocManaged(&nodes, 100 * sizeof(Node)));
  CHECK(cudaMallocManaged(&sum, sizeof(int)));
  for (int i = 0; i < 100; i++) {
    nodes[i] = {i, i < 99 ? &nodes[i + 1] : nullptr};
  }
  follow<<<1, 1>>>(nodes, sum);
  CHECK(cudaDeviceSynchronize());
  REQUIRE(*sum == 4950, "the list's sum is %d", *sum);
  nodes[50].next = nullptr;
  follow<<<1, 1>>>(nodes, sum);
  CHECK(cudaDeviceSynchronize());
  REQUIRE(*sum == 1275, "the cut list's sum is %d", *sum);
  CHECK(cudaFree(nodes));
  CHECK(cudaFree(sum));
}

static void variables() {
  REQUIRE(counter == 41, "a __managed__ variable begins as %d", counter);
  for (int i = 0; i < 300; i++) {
    table[i] = i;
  }
  use_variables<<<1, 300>>>();
  CHECK(cudaDeviceSynchronize());
  REQUIRE(counter == 42, "the __managed__ variable is %d", counter);
  for (int i = 0; i < 300; i++) {
    REQUIRE(table[i] == 3 * i, "element %d of the __managed__ table is %g", i, table[i]);
  }
}

static void copies_and_fills() {
  const size_t count = 200000;
  int *one, *two, *device;
  std::vector<int> host(count, 7);
  CHECK(cudaMallocManaged(&one, count * sizeof(int)));
  CHECK(cudaMallocManaged(&two, count * sizeof(int)));
  CHECK(cudaMalloc(&device, count * sizeof(int)));
  one[0] = 5;
  CHECK(cudaMemcpy(one + 1, host.data(), (count - 1) * sizeof(int), cudaMemcpyHostToDevice));
  REQUIRE(one[0] == 5 && one[1] == 7 && one[count - 1] == 7, "copied to managed: %d %d", one[0],
      one[1]);
  one[count - 1] = 9;
  CHECK(cudaMemcpy(two, one, count * sizeof(int), cudaMemcpyDefault));
  REQUIRE(two[0] == 5 && two[1] == 7 && two[count - 1] == 9, "managed to managed: %d", two[0]);
  CHECK(cudaMemcpy(device, two, count * sizeof(int), cudaMemcpyDeviceToDevice));
  std::vector<int> back = host_copy(device, count);
  REQUIRE(back[0] == 5 && back[count - 1] == 9, "managed to device: %d", back[0]);
  CHECK(cudaMemset(one, 0x11, count * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  REQUIRE(one[count / 2] == 0x11111111, "a filled element is %x", one[count / 2]);
  CHECK(cudaFree(one));
  CHECK(cudaFree(two));
  CHECK(cudaFree(device));
}

static void streams_and_threads() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([t] {
      const int count = 5000;
      cudaStream_t stream;
      int *values;
      CHECK(cudaStreamCreate(&stream));
      CHECK(cudaMallocManaged(&values, count * sizeof(int), cudaMemAttachHost));
      for (int i = 0; i < count; i++) {
        values[i] = t;
      }
      CHECK(cudaStreamAttachMemAsync(stream, values, 0, cudaMemAttachSingle));
      CHECK(cudaStreamSynchronize(stream));
      for (int round = 0; round < 20; round++) {
        increment<<<(count + 255) / 256, 256, 0, stream>>>(values, count);
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < count; i++) {
          REQUIRE(values[i] == t + 2 * round + 1, "thread %d, round %d: %d", t, round, values[i]);
          values[i]++;
        }
      }
      CHECK(cudaFree(values));
      CHECK(cudaStreamDestroy(stream));
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
}

static void what_is_known() {
  const size_t bytes = 1 << 20;
  char *memory;
  CHECK(cudaMallocManaged(&memory, bytes));
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, memory + 100));
  REQUIRE(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == memory + 100 &&
          attributes.devicePointer == memory + 100,
      "the pointer's type is %d", attributes.type);
  cudaMemLocation device = {};
  device.type = cudaMemLocationTypeDevice;
  CHECK(cudaMemAdvise(memory, bytes, cudaMemAdviseSetReadMostly, device));
  CHECK(cudaMemAdvise(memory, bytes, cudaMemAdviseSetPreferredLocation, device));
  CHECK(cudaMemPrefetchAsync(memory, bytes, device, 0));
  int mostly = 0, preferred = -9, prefetched = -9, unused[2] = {5, 5};
  CHECK(cudaMemRangeGetAttribute(&mostly, sizeof(int), cudaMemRangeAttributeReadMostly, memory, bytes));
  CHECK(cudaMemRangeGetAttribute(
      &preferred, sizeof(int), cudaMemRangeAttributePreferredLocation, memory, bytes));
  CHECK(cudaMemRangeGetAttribute(
      &prefetched, sizeof(int), cudaMemRangeAttributeLastPrefetchLocation, memory, bytes));
  CHECK(cudaMemRangeGetAttribute(
      unused, sizeof unused, cudaMemRangeAttributeAccessedBy, memory, bytes));
  REQUIRE(mostly == 1 && preferred == 0 && prefetched == 0 && unused[0] == cudaInvalidDeviceId,
      "read mostly %d, preferred %d, prefetched %d, accessed by %d", mostly, preferred, prefetched,
      unused[0]);
  EXPECT(cudaErrorInvalidValue, cudaMemPrefetchAsync(unused, sizeof unused, device, 0));
  cudaGetLastError();
  CHECK(cudaFree(memory));
  EXPECT(cudaErrorInvalidValue, cudaFree(memory));
  cudaGetLastError();
}

// A host function sees what the stream wrote, and the stream sees what it wrote.
static void host_functions() {
  int *values;
  CHECK(cudaMallocManaged(&values, 256 * sizeof(int)));
  increment<<<1, 256>>>(values, 256);
  CHECK(cudaLaunchHostFunc(
      0,
      [](void *data) {
        int *seen = static_cast<int *>(data);
        for (int i = 0; i < 256; i++) {
          seen[i] = seen[i] == 1 ? 100 + i : -1;
        }
      },
      values));
  increment<<<1, 256>>>(values, 256);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 256; i++) {
    REQUIRE(values[i] == 101 + i, "after the host function element %d is %d", i, values[i]);
  }
  CHECK(cudaFree(values));
}

int main() {
  attributes();
  variables();
  turns();
  lists();
  copies_and_fills();
  streams_and_threads();
  what_is_known();
  host_functions();
  return ok("turns, lists, __managed__ variables, copies, threads, advice, host functions");
}
