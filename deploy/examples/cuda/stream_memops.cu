// SPDX-License-Identifier: Apache-2.0
// Streams that wait for values in memory and write them, alone and in batches; stream attributes; events
// of a whole context.
#include "driver_entry.h"

__global__ void append(int *log, int *length, int entry) { log[(*length)++] = entry; }

__global__ void store(unsigned *flag, unsigned value) { *flag = value; }

static int *log_entries, *log_length;
static cudaStream_t one, other;

static void note(cudaStream_t stream, int entry) {
  append<<<1, 1, 0, stream>>>(log_entries, log_length, entry);
  launched();
}

static void require_log(std::vector<int> expected, const char *what) {
  CHECK(cudaStreamSynchronize(one));
  CHECK(cudaStreamSynchronize(other));
  REQUIRE(host_copy(log_length, 1)[0] == static_cast<int>(expected.size()), "%s: %d entries", what,
      host_copy(log_length, 1)[0]);
  require_equal(host_copy(log_entries, expected.size()), expected);
  CHECK(cudaMemset(log_length, 0, sizeof(int)));
  CHECK(cudaDeviceSynchronize());
}

// A stream waits; another one brings the value by writing it, by a kernel, by a copy.
static void waits() {
  unsigned *flag;
  CHECK(cudaMalloc(&flag, 64));
  CUdeviceptr word = reinterpret_cast<CUdeviceptr>(flag);
  CHECK(cudaMemset(flag, 0, 64));
  CHECK(cudaDeviceSynchronize());
  DRIVER(ENTRY(cuStreamWaitValue32)(one, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  note(one, 2);
  DRIVER(ENTRY(cuStreamWriteValue32)(one, word, 2, 0));
  note(other, 1);
  REQUIRE(cudaStreamQuery(one) == cudaErrorNotReady, "the stream does not wait");
  DRIVER(ENTRY(cuStreamWriteValue32)(other, word, 1, 0));
  DRIVER(ENTRY(cuStreamWaitValue32)(other, word, 2, CU_STREAM_WAIT_VALUE_GEQ));
  note(other, 3);
  require_log({1, 2, 3}, "written by a stream");

  DRIVER(ENTRY(cuStreamWaitValue32)(one, word, 0x80, CU_STREAM_WAIT_VALUE_AND));
  note(one, 2);
  note(other, 1);
  store<<<1, 1, 0, other>>>(flag, 0x81);
  require_log({1, 2}, "written by a kernel");

  const unsigned all = 0xffffffff, some = 0xfffffff0;
  CHECK(cudaMemcpy(flag, &all, 4, cudaMemcpyHostToDevice));
  DRIVER(ENTRY(cuStreamWaitValue32)(one, word, 0, CU_STREAM_WAIT_VALUE_NOR));
  note(one, 2);
  note(other, 1);
  CHECK(cudaMemcpyAsync(flag, &some, 4, cudaMemcpyHostToDevice, other));
  require_log({1, 2}, "copied");

  DRIVER(ENTRY(cuStreamWaitValue64)(one, word + 8, 1ull << 40, CU_STREAM_WAIT_VALUE_GEQ));
  note(one, 2);
  note(other, 1);
  DRIVER(ENTRY(cuStreamWriteValue64)(other, word + 8, (1ull << 40) + 5, 0));
  require_log({1, 2}, "64 bits");
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuStreamWaitValue32)(one, word + 2, 0, 0));
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuStreamWriteValue64)(one, word + 4, 0, 0));
  CHECK(cudaFree(flag));
}

// Two streams pass a token to and fro, in batches.
static void batches() {
  const unsigned rounds = 20;
  CUdeviceptr token;
  CHECK(cudaMalloc(reinterpret_cast<void **>(&token), 4));
  CHECK(cudaMemset(reinterpret_cast<void *>(token), 0, 4));
  CHECK(cudaDeviceSynchronize());
  std::vector<int> expected;
  for (unsigned round = 0; round < rounds; round++) {
    for (unsigned side = 0; side < 2; side++) {
      cudaStream_t stream = side ? other : one;
      CUstreamBatchMemOpParams batch[2] = {};
      batch[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
      batch[0].waitValue.address = token;
      batch[0].waitValue.value = 2 * round + side;
      batch[0].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
      DRIVER(ENTRY(cuStreamBatchMemOp)(stream, 1, batch, 0));
      note(stream, 2 * round + side);
      batch[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
      batch[1].writeValue.address = token;
      batch[1].writeValue.value = 2 * round + side + 1;
      DRIVER(ENTRY(cuStreamBatchMemOp)(stream, 2, batch, 0));
      expected.push_back(2 * round + side);
    }
  }
  require_log(expected, "a token");
  CHECK(cudaFree(reinterpret_cast<void *>(token)));
}

static void attributes() {
  cudaStreamAttrValue value = {}, read = {};
  value.accessPolicyWindow.num_bytes = 4096;
  value.accessPolicyWindow.hitRatio = 0.5f;
  CHECK(cudaStreamSetAttribute(one, cudaStreamAttributeAccessPolicyWindow, &value));
  CHECK(cudaStreamCopyAttributes(other, one));
  CHECK(cudaStreamGetAttribute(other, cudaStreamAttributeAccessPolicyWindow, &read));
  REQUIRE(read.accessPolicyWindow.num_bytes == 4096 && read.accessPolicyWindow.hitRatio == 0.5f,
      "the copied window has %zu bytes", read.accessPolicyWindow.num_bytes);
  CHECK(cudaStreamGetAttribute(one, cudaStreamAttributeSynchronizationPolicy, &read));
  REQUIRE(read.syncPolicy == cudaSyncPolicyAuto, "the policy is %d", read.syncPolicy);
}

static void events_of_a_context() {
  CUcontext context;
  cudaEvent_t event;
  CUdeviceptr gate;
  DRIVER(ENTRY(cuCtxGetCurrent)(&context));
  CHECK(cudaEventCreate(&event));
  CHECK(cudaMalloc(reinterpret_cast<void **>(&gate), 4));
  CHECK(cudaMemset(reinterpret_cast<void *>(gate), 0, 4));
  CHECK(cudaDeviceSynchronize());
  DRIVER(ENTRY(cuStreamWaitValue32)(one, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
  note(one, 1);
  DRIVER(ENTRY(cuCtxRecordEvent)(context, event));
  REQUIRE(cudaEventQuery(event) == cudaErrorNotReady, "the event does not wait for all streams");
  cudaStream_t opener;
  CHECK(cudaStreamCreateWithFlags(&opener, cudaStreamNonBlocking));
  DRIVER(ENTRY(cuStreamWriteValue32)(opener, gate, 1, 0));
  DRIVER(ENTRY(cuCtxWaitEvent)(context, event));
  note(other, 2);
  require_log({1, 2}, "behind the event");
  CHECK(cudaEventSynchronize(event));
  CHECK(cudaStreamDestroy(opener));
  CHECK(cudaEventDestroy(event));
  CHECK(cudaFree(reinterpret_cast<void *>(gate)));
}

int main() {
  CHECK(cudaFree(nullptr));
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(
      &supported, static_cast<cudaDeviceAttr>(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS), 0));
  REQUIRE(supported, "the device has no stream memory operations");
  CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&log_entries, 1000 * sizeof(int)));
  CHECK(cudaMalloc(&log_length, sizeof(int)));
  CHECK(cudaMemset(log_length, 0, sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  waits();
  batches();
  attributes();
  events_of_a_context();
  return ok("waits, writes, batches, attributes, events of a context");
}
