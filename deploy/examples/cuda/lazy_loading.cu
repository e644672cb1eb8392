// SPDX-License-Identifier: Apache-2.0
// Lazy and eager loading, chosen by CUDA_MODULE_LOADING before the first call: each in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include "driver_entry.h"

__device__ int initialised[4] = {1, 2, 3, 4};
__managed__ int shared_value = 7;

template <int N>
__global__ void kernel(int *out) {
  out[N] = N * initialised[N % 4] + shared_value;
}

template <int N>
static void launch_all(int *out) {
  if constexpr (N > 0) launch_all<N - 1>(out);
  // The first launch of each kernel may load it, even while others wait in a stream.
  kernel<N><<<1, 1>>>(out);
}

static int child(const char *mode, CUmoduleLoadingMode expected) {
  if (mode != nullptr) {
    setenv("CUDA_MODULE_LOADING", mode, 1);
  } else {
    unsetenv("CUDA_MODULE_LOADING");
  }
  CUmoduleLoadingMode loading;
  CHECK(cudaFree(nullptr));
  DRIVER(ENTRY(cuModuleGetLoadingMode)(&loading));
  REQUIRE(loading == expected, "%s is mode %d", mode == nullptr ? "nothing" : mode, loading);
  shared_value = 11;
  int *out;
  CHECK(cudaMalloc(&out, 20 * sizeof(int)));
  launch_all<19>(out);
  launched();
  std::vector<int> expected_values(20);
  for (int i = 0; i < 20; i++) expected_values[i] = i * (i % 4 + 1) + 11;
  require_equal(host_copy(out, 20), expected_values);
  // Functions and variables that were not used yet can be queried and copied from.
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, kernel<25>));
  REQUIRE(attributes.maxThreadsPerBlock > 0, "a kernel for %d threads", attributes.maxThreadsPerBlock);
  int third;
  CHECK(cudaMemcpyFromSymbol(&third, initialised, sizeof third, 2 * sizeof third));
  REQUIRE(third == 3, "the third is %d", third);
  CHECK(cudaFree(out));
  return wrong_results > 0;
}

int main() {
  const struct {
    const char *mode;
    CUmoduleLoadingMode expected;
  } modes[] = {{nullptr, CU_MODULE_LAZY_LOADING}, {"LAZY", CU_MODULE_LAZY_LOADING},
      {"EAGER", CU_MODULE_EAGER_LOADING}};
  for (const auto &mode : modes) {
    pid_t pid = fork();
    REQUIRE(pid >= 0, "no process");
    if (pid == 0) std::_Exit(child(mode.mode, mode.expected));
    int status;
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0, "%s ended with %x",
        mode.mode == nullptr ? "no mode" : mode.mode, status);
  }
  return ok("default, lazy and eager");
}
