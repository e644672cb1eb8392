// SPDX-License-Identifier: Apache-2.0
// Events between processes: each waits, on its device, for what the other has recorded.
// processes: 2
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

constexpr int count = 50'000, turns = 40;

struct Handles {
  cudaIpcMemHandle_t values;
  cudaIpcEventHandle_t parent, child;
};

// Slow enough that whoever does not wait for it sees values of the turn before.
__global__ void advance(unsigned *values, int n, unsigned expected, unsigned *wrong) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    for (int step = 0; step < 200; step++) {
      __threadfence();
    }
    if (values[i] != expected) {
      atomicAdd(wrong, 1u);
    }
    values[i] = expected + 1;
  }
}

static void tell(int pipe, char what) { REQUIRE(write(pipe, &what, 1) == 1, "cannot tell"); }

static void await(int pipe) {
  char what;
  REQUIRE(read(pipe, &what, 1) == 1, "the other has ended");
}

// Takes every second turn, from the first or the second: hosts tell each other that something is recorded, and only
// the devices wait for it to be done.
static void play(unsigned *values, int first, cudaEvent_t own, cudaEvent_t other, int in, int out) {
  unsigned *wrong;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&wrong, sizeof *wrong));
  CHECK(cudaMemset(wrong, 0, sizeof *wrong));
  CHECK(cudaDeviceSynchronize());
  for (int turn = first; turn < turns; turn += 2) {
    if (turn > 0) {
      await(in);
      CHECK(cudaStreamWaitEvent(stream, other, 0));
    }
    advance<<<(count + 255) / 256, 256, 0, stream>>>(values, count, turn, wrong);
    launched();
    CHECK(cudaEventRecord(own, stream));
    tell(out, 't');
  }
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(cudaEventQuery(own) == cudaSuccess, "the event of a stream that has ended is not done");
  REQUIRE(host_copy(wrong, 1)[0] == 0, "%u values were not those of the turn before",
      host_copy(wrong, 1)[0]);
  CHECK(cudaFree(wrong));
  CHECK(cudaStreamDestroy(stream));
}

static int child(int in, int out) {
  Handles handles;
  REQUIRE(read(in, &handles, sizeof handles) == sizeof handles, "no handles");
  unsigned *values;
  cudaEvent_t own, other;
  CHECK(cudaIpcOpenMemHandle((void **)&values, handles.values, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaIpcOpenEventHandle(&own, handles.child));
  CHECK(cudaIpcOpenEventHandle(&other, handles.parent));
  REQUIRE(cudaEventQuery(other) == cudaSuccess, "an event that nobody recorded is not done");
  tell(out, 'r');
  play(values, 1, own, other, in, out);
  CHECK(cudaEventDestroy(own));
  CHECK(cudaEventDestroy(other));
  CHECK(cudaIpcCloseMemHandle(values));
  return 0;
}

int main() {
  int down[2], up[2];
  REQUIRE(pipe(down) == 0 && pipe(up) == 0, "no pipes");
  if (fork() == 0) {
    std::exit(child(down[0], up[1]));
  }
  unsigned *values;
  cudaEvent_t own, other, timed;
  Handles handles;
  int supported;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrIpcEventSupport, 0));
  REQUIRE(supported, "the device has no such events");
  EXPECT(cudaErrorInvalidValue, cudaEventCreateWithFlags(&timed, cudaEventInterprocess));
  cudaGetLastError();
  CHECK(cudaEventCreateWithFlags(&own, cudaEventInterprocess | cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&other, cudaEventInterprocess | cudaEventDisableTiming));
  CHECK(cudaMalloc(&values, count * sizeof *values));
  CHECK(cudaMemset(values, 0, count * sizeof *values));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaIpcGetMemHandle(&handles.values, values));
  CHECK(cudaIpcGetEventHandle(&handles.parent, own));
  CHECK(cudaIpcGetEventHandle(&handles.child, other));
  CHECK(cudaEventCreate(&timed));
  REQUIRE(cudaIpcGetEventHandle(&handles.child, timed) != cudaSuccess, "an event of one process got a handle");
  cudaGetLastError();
  CHECK(cudaIpcGetEventHandle(&handles.child, other));
  REQUIRE(write(down[1], &handles, sizeof handles) == sizeof handles, "cannot tell");
  await(up[0]);
  play(values, 0, own, other, up[0], down[1]);
  await(up[0]);
  CHECK(cudaEventSynchronize(other));
  require_equal(host_copy(values, count), std::vector<unsigned>(count, turns));
  int status;
  REQUIRE(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x", status);
  CHECK(cudaEventDestroy(own));
  CHECK(cudaEventDestroy(other));
  CHECK(cudaFree(values));
  return ok("%d turns of two processes on %d values", turns, count);
}
