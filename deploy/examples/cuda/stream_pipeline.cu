// SPDX-License-Identifier: Apache-2.0
// Chunks flow through upload, kernel and download streams; events order them, buffers are reused.
#include "check.h"

constexpr int SLOTS = 3;

__global__ void transform(const int *input, int *output, int count, int chunk) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    output[i] = input[i] * 3 + chunk;
  }
}

int main() {
  const int chunk_size = 40000, chunks = 24;
  int *input, *output;
  CHECK(cudaMallocHost(&input, size_t(chunks) * chunk_size * sizeof(int)));
  CHECK(cudaHostAlloc(&output, size_t(chunks) * chunk_size * sizeof(int), cudaHostAllocDefault));
  for (int i = 0; i < chunks * chunk_size; i++) {
    input[i] = i ^ 0x5a5a;
    output[i] = -1;
  }
  cudaStream_t up, work, down;
  CHECK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithPriority(&down, cudaStreamNonBlocking, 0));
  cudaEvent_t uploaded[SLOTS], worked[SLOTS], downloaded[SLOTS];
  int *device_input[SLOTS], *device_output[SLOTS];
  for (int slot = 0; slot < SLOTS; slot++) {
    CHECK(cudaEventCreateWithFlags(&uploaded[slot], cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&worked[slot], cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&downloaded[slot], cudaEventDisableTiming));
    CHECK(cudaMalloc(&device_input[slot], chunk_size * sizeof(int)));
    CHECK(cudaMalloc(&device_output[slot], chunk_size * sizeof(int)));
  }
  for (int chunk = 0; chunk < chunks; chunk++) {
    int slot = chunk % SLOTS;
    size_t bytes = chunk_size * sizeof(int);
    CHECK(cudaStreamWaitEvent(up, worked[slot], 0));
    CHECK(cudaMemcpyAsync(device_input[slot], input + size_t(chunk) * chunk_size, bytes,
        cudaMemcpyHostToDevice, up));
    CHECK(cudaEventRecord(uploaded[slot], up));
    CHECK(cudaStreamWaitEvent(work, uploaded[slot], 0));
    CHECK(cudaStreamWaitEvent(work, downloaded[slot], 0));
    transform<<<(chunk_size + 255) / 256, 256, 0, work>>>(
        device_input[slot], device_output[slot], chunk_size, chunk);
    launched();
    CHECK(cudaEventRecord(worked[slot], work));
    CHECK(cudaStreamWaitEvent(down, worked[slot], 0));
    CHECK(cudaMemcpyAsync(output + size_t(chunk) * chunk_size, device_output[slot], bytes,
        cudaMemcpyDeviceToHost, down));
    CHECK(cudaEventRecord(downloaded[slot], down));
  }
  CHECK(cudaStreamSynchronize(down));
  for (int i = 0; i < chunks * chunk_size; i++) {
    int expected = (i ^ 0x5a5a) * 3 + i / chunk_size;
    REQUIRE(output[i] == expected, "element %d is %d, not %d", i, output[i], expected);
  }
  CHECK(cudaDeviceSynchronize());
  for (int slot = 0; slot < SLOTS; slot++) {
    CHECK(cudaEventDestroy(uploaded[slot]));
    CHECK(cudaEventDestroy(worked[slot]));
    CHECK(cudaEventDestroy(downloaded[slot]));
    CHECK(cudaFree(device_input[slot]));
    CHECK(cudaFree(device_output[slot]));
  }
  CHECK(cudaStreamDestroy(up));
  CHECK(cudaStreamDestroy(work));
  CHECK(cudaStreamDestroy(down));
  CHECK(cudaFreeHost(input));
  CHECK(cudaFreeHost(output));
  return ok("%d chunks of %d", chunks, chunk_size);
}
