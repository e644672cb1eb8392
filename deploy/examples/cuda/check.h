// SPDX-License-Identifier: Apache-2.0
// Checks that all programs here share: a failed call or a wrong result ends one with status 1 and says where. With
// GO_ON_AFTER_WRONG_RESULTS in the environment, for a GPU that computes nothing, only a failed call ends it, and the
// first wrong result is said.
#pragma once

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call) check((call), #call, __FILE__, __LINE__)
#define EXPECT(error, call) expect((error), (call), #call, __FILE__, __LINE__)
#define REQUIRE(condition, ...)  \
  do {                           \
    if (!(condition)) {          \
      wrong_result(__VA_ARGS__); \
    }                            \
  } while (0)

static std::atomic<int> wrong_results;

inline void say_failed(const char *format, va_list arguments) {
  std::printf("%s: FAILED ", program_invocation_short_name);
  std::vprintf(format, arguments);
  std::printf("\n");
}

__attribute__((noreturn, format(printf, 1, 2))) inline void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say_failed(format, arguments);
  va_end(arguments);
  std::exit(1);
}

__attribute__((format(printf, 1, 2))) inline void wrong_result(const char *format, ...) {
  if (wrong_results++ == 0) {
    va_list arguments;
    va_start(arguments, format);
    say_failed(format, arguments);
    va_end(arguments);
  }
  static const bool goes_on = std::getenv("GO_ON_AFTER_WRONG_RESULTS");
  if (!goes_on) {
    std::exit(1);
  }
}

__attribute__((format(printf, 1, 2))) inline int ok(const char *format, ...) {
  if (wrong_results > 0) {
    std::printf("%s: FAILED %d results are wrong\n", program_invocation_short_name,
        wrong_results.load());
    return 1;
  }
  va_list arguments;
  va_start(arguments, format);
  std::printf("%s: OK ", program_invocation_short_name);
  std::vprintf(format, arguments);
  std::printf("\n");
  va_end(arguments);
  return 0;
}

inline void check(cudaError_t error, const char *call, const char *file, int line) {
  if (error != cudaSuccess) {
    fail("%s:%d: %s is %d %s", file, line, call, error, cudaGetErrorString(error));
  }
}

inline void expect(
    cudaError_t expected, cudaError_t error, const char *call, const char *file, int line) {
  if (error != expected) {
    fail("%s:%d: %s is %d %s, not %s", file, line, call, error, cudaGetErrorName(error),
        cudaGetErrorName(expected));
  }
}

// A small generator with the same numbers on every machine.
struct Numbers {
  uint64_t state;

  explicit Numbers(uint64_t seed) : state(seed * 2862933555777941757ULL + 3037000493ULL) {}

  uint32_t next() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<uint32_t>(state >> 33) ^ static_cast<uint32_t>(state >> 11);
  }

  float unit() { return static_cast<float>(next() >> 8) / 16777216.0f; }
};

template <typename T>
T *device_copy(const std::vector<T> &host) {
  T *device;
  CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

template <typename T>
std::vector<T> host_copy(const T *device, size_t count) {
  std::vector<T> host(count);
  CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

inline void launched() { CHECK(cudaGetLastError()); }

template <typename T>
void require_equal(const std::vector<T> &actual, const std::vector<T> &expected) {
  for (size_t i = 0; i < expected.size(); i++) {
    if (std::memcmp(&actual[i], &expected[i], sizeof(T)) != 0) {
      wrong_result("element %zu is %.9g, not %.9g", i, static_cast<double>(actual[i]),
          static_cast<double>(expected[i]));
    }
  }
}

template <typename T>
void require_close(const std::vector<T> &actual, const std::vector<T> &expected, double relative) {
  for (size_t i = 0; i < expected.size(); i++) {
    double difference = std::fabs(double(actual[i]) - double(expected[i]));
    if (!(difference <= relative * std::fmax(1.0, std::fabs(double(expected[i]))))) {
      wrong_result("element %zu is %.17g, not %.17g", i, double(actual[i]), double(expected[i]));
    }
  }
}
