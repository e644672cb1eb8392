// SPDX-License-Identifier: Apache-2.0
// Host memory that kernels read and write: allocated mapped, and registered wherever it lies.
#include "check.h"

__global__ void scale(const float *from, float *to, int count, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    to[i] = from[i] * factor;
  }
}

static void allocated() {
  const int count = 1 << 20;
  float *in, *out, *inOnDevice, *outOnDevice;
  CHECK(cudaHostAlloc(&in, count * sizeof(float), cudaHostAllocMapped));
  CHECK(cudaHostAlloc(&out, count * sizeof(float), cudaHostAllocMapped | cudaHostAllocPortable));
  CHECK(cudaHostGetDevicePointer(&inOnDevice, in, 0));
  CHECK(cudaHostGetDevicePointer(&outOnDevice, out, 0));
  for (int round = 1; round <= 3; round++) {
    for (int i = 0; i < count; i++) {
      in[i] = static_cast<float>(i % 1000);
    }
    scale<<<(count + 255) / 256, 256>>>(inOnDevice, outOnDevice, count, round);
    launched();
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
      REQUIRE(out[i] == i % 1000 * round, "round %d: element %d is %g", round, i, out[i]);
    }
  }
  // With one address space the host's pointer is as good as the device's.
  scale<<<(count + 255) / 256, 256>>>(in, out, count, 7);
  CHECK(cudaDeviceSynchronize());
  REQUIRE(out[999] == 6993, "by the host's pointer the result is %g", out[999]);
  // A copy in the same stream sees what the kernel wrote.
  float *device;
  CHECK(cudaMalloc(&device, count * sizeof(float)));
  scale<<<(count + 255) / 256, 256>>>(inOnDevice, outOnDevice, count, 9);
  CHECK(cudaMemcpyAsync(device, out, count * sizeof(float), cudaMemcpyDefault, 0));
  REQUIRE(host_copy(device, count)[999] == 8991, "the copy overtook the kernel");
  CHECK(cudaFree(device));
  unsigned flags = 0;
  CHECK(cudaHostGetFlags(&flags, in));
  REQUIRE(flags & cudaHostAllocMapped, "the flags are %x", flags);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, in));
  REQUIRE(attributes.type == cudaMemoryTypeHost && attributes.devicePointer == inOnDevice,
      "the pointer's type is %d", attributes.type);
  CHECK(cudaFreeHost(in));
  CHECK(cudaFreeHost(out));
}

// Any memory of the program, at any address and of any length.
static void registered() {
  const int count = 1234567;
  std::vector<float> memory(count + 3, 2.0f);
  float *in = memory.data() + 1, *inOnDevice;
  CHECK(cudaHostRegister(in, count * sizeof(float), cudaHostRegisterMapped));
  CHECK(cudaHostGetDevicePointer(&inOnDevice, in, 0));
  scale<<<(count + 255) / 256, 256>>>(inOnDevice, inOnDevice, count, 3);
  launched();
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < count; i++) {
    REQUIRE(in[i] == 6, "registered element %d is %g", i, in[i]);
  }
  REQUIRE(memory[0] == 2 && memory[count + 1] == 2, "memory beside the registered was changed");
  // Each launch sees the writes of the host before it.
  in[0] = 100;
  scale<<<1, 1>>>(inOnDevice, inOnDevice + 1, 1, 1);
  in[5] = 200;
  scale<<<1, 1>>>(inOnDevice + 5, inOnDevice + 6, 1, 1);
  CHECK(cudaDeviceSynchronize());
  REQUIRE(in[1] == 100 && in[6] == 200, "between launches: %g %g", in[1], in[6]);
  float *inner;
  CHECK(cudaHostGetDevicePointer(&inner, in + 10, 0));
  REQUIRE(inner == inOnDevice + 10, "a pointer into the middle is elsewhere");
  CHECK(cudaHostUnregister(in));
  EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(in));
  cudaGetLastError();
}

static void filled_and_read_by_events() {
  const int count = 4096;
  int *flags;
  cudaEvent_t done;
  CHECK(cudaEventCreate(&done));
  CHECK(cudaHostAlloc(&flags, count * sizeof(int), cudaHostAllocMapped));
  CHECK(cudaMemsetAsync(flags, 1, count * sizeof(int), 0));
  CHECK(cudaEventRecord(done));
  while (cudaEventQuery(done) == cudaErrorNotReady) {
  }
  REQUIRE(flags[count - 1] == 0x01010101, "after the event the last element is %x",
      flags[count - 1]);
  CHECK(cudaFreeHost(flags));
  CHECK(cudaEventDestroy(done));
}

int main() {
  allocated();
  registered();
  filled_and_read_by_events();
  return ok("allocated, registered, read after an event");
}
