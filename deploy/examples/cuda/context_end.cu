// SPDX-License-Identifier: Apache-2.0
// A context that ends while its streams wait, through an event, for a host function of another context.
#include <atomic>
#include <thread>

#include "driver_entry.h"

static const int bytes = 1 << 20;

static std::atomic<int> calls{0};

static void slow(void *) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  calls++;
}

// Destroys a context with work behind such a wait: a copy to the host, or none.
static void end_one(CUcontext own, cudaStream_t stream, char *host, bool copies) {
  CUcontext other;
  CUstream waiting;
  CUdeviceptr memory;
  cudaEvent_t event;
  int device;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  DRIVER(ENTRY(cuCtxCreate)(&other, nullptr, 0, device));
  DRIVER(ENTRY(cuStreamCreate)(&waiting, CU_STREAM_NON_BLOCKING));
  DRIVER(ENTRY(cuMemAlloc)(&memory, bytes));
  DRIVER(ENTRY(cuMemsetD8Async)(memory, 7, bytes, waiting));
  DRIVER(ENTRY(cuCtxPopCurrent)(nullptr));

  DRIVER(ENTRY(cuCtxSetCurrent)(own));
  CHECK(cudaLaunchHostFunc(stream, slow, nullptr));
  CHECK(cudaEventRecord(event, stream));
  DRIVER(ENTRY(cuCtxPushCurrent)(other));
  DRIVER(ENTRY(cuStreamWaitEvent)(waiting, event, 0));
  if (copies) DRIVER(ENTRY(cuMemcpyDtoHAsync)(host, memory, bytes, waiting));
  DRIVER(ENTRY(cuCtxDestroy)(other));

  // The session goes on, with all that came before.
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaEventDestroy(event));
}

int main() {
  CHECK(cudaFree(nullptr));
  CUcontext own;
  cudaStream_t stream;
  char *host;
  DRIVER(ENTRY(cuCtxGetCurrent)(&own));
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaHostAlloc(&host, bytes, cudaHostAllocPortable));
  end_one(own, stream, host, false);
  end_one(own, stream, host, true);
  REQUIRE(calls == 2, "%d host functions have run", calls.load());
  int *numbers = device_copy(std::vector<int>(100, 3));
  for (int number : host_copy(numbers, 100)) REQUIRE(number == 3, "a number is %d", number);
  return ok("%d contexts", calls.load());
}
