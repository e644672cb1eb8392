// SPDX-License-Identifier: Apache-2.0
// Pools and blocks of memory that another process opens by descriptors, sent over a socket.
// processes: 2
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_entry.h"

constexpr int count = 300'000;

struct Told {
  cudaMemPoolPtrExportData values;
  size_t block_bytes;
};

__global__ void fill(int *values, int n, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    values[i] = first + i;
  }
}

__global__ void negate(int *values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    values[i] = -values[i];
  }
}

static void send_descriptor(int socket, int descriptor) {
  char byte = 'd', control[CMSG_SPACE(sizeof(int))] = {};
  iovec vector = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  REQUIRE(sendmsg(socket, &message, 0) == 1, "cannot send a descriptor");
  close(descriptor);
}

static int receive_descriptor(int socket) {
  char byte, control[CMSG_SPACE(sizeof(int))] = {};
  iovec vector = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  REQUIRE(recvmsg(socket, &message, 0) == 1, "no descriptor came");
  int descriptor;
  std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
  return descriptor;
}

static void await(int socket) {
  char byte;
  REQUIRE(read(socket, &byte, 1) == 1, "the other has ended");
}

static CUmemAllocationProp block_properties() {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

static CUdeviceptr map(CUmemGenericAllocationHandle block, size_t bytes) {
  CUdeviceptr address;
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  DRIVER(ENTRY(cuMemAddressReserve)(&address, bytes, 0, 0, 0));
  DRIVER(ENTRY(cuMemMap)(address, bytes, 0, block, 0));
  DRIVER(ENTRY(cuMemSetAccess)(address, bytes, &access, 1));
  return address;
}

static void unmap(CUdeviceptr address, size_t bytes) {
  DRIVER(ENTRY(cuMemUnmap)(address, bytes));
  DRIVER(ENTRY(cuMemAddressFree)(address, bytes));
}

static void change(int *values) {
  negate<<<(count + 255) / 256, 256>>>(values, count);
  launched();
  CHECK(cudaDeviceSynchronize());
}

static int child(int socket) {
  CHECK(cudaSetDevice(0));
  CHECK(cudaFree(nullptr));
  int pool_descriptor = receive_descriptor(socket), block_descriptor = receive_descriptor(socket);
  Told told;
  REQUIRE(read(socket, &told, sizeof told) == sizeof told, "nothing was told");
  cudaMemPool_t pool;
  int *values;
  CHECK(cudaMemPoolImportFromShareableHandle(
      &pool, (void *)(uintptr_t)pool_descriptor, cudaMemHandleTypePosixFileDescriptor, 0));
  CHECK(cudaMemPoolImportPointer((void **)&values, pool, &told.values));
  change(values);
  int *refused;
  REQUIRE(cudaMallocFromPoolAsync((void **)&refused, 64, pool, cudaStreamLegacy) != cudaSuccess,
      "another process's pool gave memory");
  cudaGetLastError();
  CHECK(cudaFree(values));
  CHECK(cudaMemPoolDestroy(pool));

  CUmemGenericAllocationHandle block, forged;
  DRIVER(ENTRY(cuMemImportFromShareableHandle)(
      &block, (void *)(uintptr_t)block_descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  REQUIRE(ENTRY(cuMemImportFromShareableHandle)(&forged, (void *)(uintptr_t)socket,
              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS,
      "a socket was opened as memory");
  CUmemAllocationProp properties;
  DRIVER(ENTRY(cuMemGetAllocationPropertiesFromHandle)(&properties, block));
  REQUIRE(properties.location.id == 0, "the block lies on device %d", properties.location.id);
  CUdeviceptr address = map(block, told.block_bytes);
  DRIVER(ENTRY(cuMemRelease)(block));
  change((int *)address);
  REQUIRE(write(socket, "d", 1) == 1, "cannot tell");
  // The parent has ended its use of the block; here it is still mapped.
  await(socket);
  REQUIRE(host_copy((int *)address, 1)[0] == -21, "the block has changed");
  unmap(address, told.block_bytes);
  close(pool_descriptor);
  close(block_descriptor);
  return 0;
}

static void parent(int socket) {
  int kinds, supported;
  CHECK(cudaDeviceGetAttribute(&kinds, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
  REQUIRE(kinds & cudaMemHandleTypePosixFileDescriptor, "pools have no descriptors: %d", kinds);
  DRIVER(ENTRY(cuDeviceGetAttribute)(
      &supported, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
  REQUIRE(supported, "blocks have no descriptors");
  CHECK(cudaFree(nullptr));

  cudaMemPoolProps pool_properties = {};
  pool_properties.allocType = cudaMemAllocationTypePinned;
  pool_properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  pool_properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  int *values;
  int pool_descriptor, block_descriptor;
  Told told = {};
  CHECK(cudaMemPoolCreate(&pool, &pool_properties));
  CHECK(cudaMallocFromPoolAsync((void **)&values, count * sizeof(int), pool, cudaStreamLegacy));
  fill<<<(count + 255) / 256, 256>>>(values, count, 11);
  launched();
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemPoolExportToShareableHandle(
      &pool_descriptor, pool, cudaMemHandleTypePosixFileDescriptor, 0));
  CHECK(cudaMemPoolExportPointer(&told.values, values));

  CUmemAllocationProp properties = block_properties();
  size_t granularity;
  CUmemGenericAllocationHandle block;
  DRIVER(ENTRY(cuMemGetAllocationGranularity)(
      &granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  told.block_bytes = (count * sizeof(int) + granularity - 1) / granularity * granularity;
  DRIVER(ENTRY(cuMemCreate)(&block, told.block_bytes, &properties, 0));
  CUdeviceptr address = map(block, told.block_bytes);
  fill<<<(count + 255) / 256, 256>>>((int *)address, count, 21);
  launched();
  CHECK(cudaDeviceSynchronize());
  DRIVER(ENTRY(cuMemExportToShareableHandle)(
      &block_descriptor, block, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  DRIVER(ENTRY(cuMemRelease)(block));
  send_descriptor(socket, pool_descriptor);
  send_descriptor(socket, block_descriptor);
  REQUIRE(write(socket, &told, sizeof told) == sizeof told, "cannot tell");

  await(socket);
  std::vector<int> expected(count);
  for (int i = 0; i < count; i++) {
    expected[i] = -11 - i;
  }
  require_equal(host_copy(values, count), expected);
  for (int &value : expected) {
    value -= 10;
  }
  require_equal(host_copy((int *)address, count), expected);
  size_t free_before, free_after, total;
  CHECK(cudaMemGetInfo(&free_before, &total));
  unmap(address, told.block_bytes);
  CHECK(cudaFreeAsync(values, cudaStreamLegacy));
  CHECK(cudaMemPoolDestroy(pool));
  REQUIRE(write(socket, "e", 1) == 1, "cannot tell");
  int status;
  REQUIRE(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x",
      status);
  CHECK(cudaDeviceSynchronize());
  // Through a pool, the end of a process is its server's to notice.
  size_t given_back = told.block_bytes + count * sizeof(int);
  for (int tries = 0; tries < 100; tries++) {
    CHECK(cudaMemGetInfo(&free_after, &total));
    if (free_after >= free_before + given_back) break;
    usleep(50'000);
  }
  REQUIRE(free_after >= free_before + given_back,
      "what nobody has any more still counts: %zu free, %zu before", free_after, free_before);
}

int main() {
  int sockets[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "no sockets");
  if (fork() == 0) {
    std::exit(child(sockets[1]));
  }
  parent(sockets[0]);
  return ok("a pool's memory and a block, changed by another process");
}
