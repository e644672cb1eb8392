// SPDX-License-Identifier: Apache-2.0
// Events: query before and after, times that add up, order between streams, and their errors.
#include "check.h"

__global__ void spin(int *result, int rounds) {
  int value = *result;
  for (int i = 0; i < rounds; i++) {
    value = value * 1664525 + 1013904223;
  }
  *result = value;
}

__global__ void copy_value(const int *from, int *to) { *to = *from; }

int main() {
  int *value, *seen;
  CHECK(cudaMalloc(&value, sizeof(int)));
  CHECK(cudaMalloc(&seen, sizeof(int)));
  CHECK(cudaMemset(value, 0, sizeof(int)));
  cudaStream_t first, second;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  cudaEvent_t start, middle, end, untimed;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&middle));
  CHECK(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
  CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));

  CHECK(cudaEventQuery(start));  // never recorded: complete
  const int rounds = 2000000;
  CHECK(cudaEventRecord(start, first));
  spin<<<1, 1, 0, first>>>(value, rounds);
  CHECK(cudaEventRecord(middle, first));
  CHECK(cudaStreamWaitEvent(second, middle, 0));
  copy_value<<<1, 1, 0, second>>>(value, seen);
  CHECK(cudaEventRecord(end, second));
  CHECK(cudaEventSynchronize(end));
  CHECK(cudaEventQuery(start));
  CHECK(cudaEventQuery(end));
  CHECK(cudaStreamQuery(first));
  CHECK(cudaStreamQuery(second));

  unsigned expected = 0;
  for (int i = 0; i < rounds; i++) {
    expected = expected * 1664525u + 1013904223u;
  }
  int result = host_copy(seen, 1)[0];
  REQUIRE(unsigned(result) == expected, "the second stream saw %x, not %x", result, expected);

  float whole, before, after;
  CHECK(cudaEventElapsedTime(&whole, start, end));
  CHECK(cudaEventElapsedTime(&before, start, middle));
  CHECK(cudaEventElapsedTime(&after, middle, end));
  REQUIRE(before > 0 && after >= 0, "times %g and %g ms", before, after);
  REQUIRE(std::fabs(whole - (before + after)) < 0.01f + whole * 0.01f,
      "%g + %g is not %g ms", before, after, whole);
  REQUIRE(whole < 60000, "%g ms", whole);

  CHECK(cudaEventRecord(untimed, first));
  CHECK(cudaEventSynchronize(untimed));
  EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&whole, untimed, end));
  EXPECT(cudaErrorInvalidResourceHandle, cudaGetLastError());

  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(middle));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaEventDestroy(untimed));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  CHECK(cudaFree(value));
  CHECK(cudaFree(seen));
  return ok("%d dependent steps between two events", rounds);
}
