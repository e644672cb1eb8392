// SPDX-License-Identifier: Apache-2.0
// Queries that programs make before they use a device; their answers agree with each other.
#include "check.h"

static int attribute(cudaDeviceAttr name) {
  int value;
  CHECK(cudaDeviceGetAttribute(&value, name, 0));
  return value;
}

int main() {
  int devices, driver, runtime, current;
  CHECK(cudaGetDeviceCount(&devices));
  REQUIRE(devices >= 1, "%d devices", devices);
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  REQUIRE(driver >= runtime / 1000 * 1000, "driver %d is older than runtime %d", driver, runtime);
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  REQUIRE(device.name[0] != 0, "the device has no name");
  REQUIRE(device.warpSize == 32, "a warp has %d threads", device.warpSize);
  REQUIRE(device.maxThreadsPerBlock >= 1024, "a block has %d threads", device.maxThreadsPerBlock);
  REQUIRE(device.major >= 7, "compute capability %d.%d", device.major, device.minor);
  REQUIRE(attribute(cudaDevAttrComputeCapabilityMajor) == device.major, "two capabilities");
  REQUIRE(attribute(cudaDevAttrMultiProcessorCount) == device.multiProcessorCount, "two counts");
  REQUIRE(attribute(cudaDevAttrMaxSharedMemoryPerBlock) == int(device.sharedMemPerBlock),
      "two sizes of shared memory");
  REQUIRE(attribute(cudaDevAttrUnifiedAddressing) == 1, "no unified addressing");
  size_t free_bytes, total_bytes;
  CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  REQUIRE(total_bytes == device.totalGlobalMem, "%zu and %zu bytes of memory", total_bytes,
      device.totalGlobalMem);
  REQUIRE(free_bytes <= total_bytes, "%zu of %zu bytes are free", free_bytes, total_bytes);
  char *block;
  CHECK(cudaMalloc(&block, 8 << 20));
  size_t free_after;
  CHECK(cudaMemGetInfo(&free_after, &total_bytes));
  REQUIRE(free_after + (8 << 20) <= free_bytes, "8 MiB were taken, %zu bytes are free of %zu",
      free_after, free_bytes);
  cudaPointerAttributes pointer;
  CHECK(cudaPointerGetAttributes(&pointer, block + 100));
  REQUIRE(pointer.type == cudaMemoryTypeDevice && pointer.device == 0, "device memory is of type %d",
      pointer.type);
  int on_stack;
  CHECK(cudaPointerGetAttributes(&pointer, &on_stack));
  REQUIRE(pointer.type == cudaMemoryTypeUnregistered, "the stack is of type %d", pointer.type);
  CHECK(cudaFree(block));
  char bus[32];
  CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  int found = -1;
  CHECK(cudaDeviceGetByPCIBusId(&found, bus));
  REQUIRE(found == 0, "%s is device %d", bus, found);
  CHECK(cudaSetDevice(0));
  CHECK(cudaGetDevice(&current));
  REQUIRE(current == 0, "device %d is current", current);
  EXPECT(cudaErrorInvalidDevice, cudaSetDevice(devices + 7));
  cudaGetLastError();
  int least, greatest;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  REQUIRE(least >= greatest, "priorities %d to %d", least, greatest);
  size_t stack;
  CHECK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
  REQUIRE(stack >= 1024, "%zu bytes of stack", stack);
  return ok("%s, %d.%d, %zu MiB, driver %d, runtime %d", device.name, device.major, device.minor,
      device.totalGlobalMem >> 20, driver, runtime);
}
