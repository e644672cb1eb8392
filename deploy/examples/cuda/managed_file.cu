// SPDX-License-Identifier: Apache-2.0
// Managed memory given to system calls: read from and written to a file, round after round.
// managed_file [MEBIBYTES [ROUNDS]]
#include "check.h"

#include <chrono>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

__global__ void mix(uint64_t *words, size_t count, uint64_t key) {
  size_t step = gridDim.x * static_cast<size_t>(blockDim.x);
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += step) {
    words[i] = words[i] * 6364136223846793005ULL + key + i;
  }
}

static uint64_t mixed(uint64_t word, uint64_t key, size_t i) {
  return word * 6364136223846793005ULL + key + i;
}

static void write_all(int file, const void *from, size_t bytes) {
  const char *at = static_cast<const char *>(from);
  while (bytes > 0) {
    ssize_t written = write(file, at, bytes);
    REQUIRE(written > 0, "write(2) from managed memory: %s", std::strerror(errno));
    at += written;
    bytes -= written;
  }
}

static void read_all(int file, void *to, size_t bytes) {
  char *at = static_cast<char *>(to);
  while (bytes > 0) {
    ssize_t got = read(file, at, bytes);
    REQUIRE(got > 0, "read(2) into managed memory: %s", std::strerror(errno));
    at += got;
    bytes -= got;
  }
}

static double seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
  const size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64) << 20;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const size_t count = bytes / sizeof(uint64_t), pages = bytes / 4096;
  char path[] = "/tmp/managed_file.XXXXXX";
  int file = mkstemp(path);
  REQUIRE(file >= 0, "no file in /tmp: %s", std::strerror(errno));
  unlink(path);
  uint64_t *words;
  CHECK(cudaMallocManaged(&words, bytes));
  std::vector<uint64_t> written(1 << 16);
  double launching = 0, waiting = 0, running = 0;
  cudaEvent_t begun, ended;
  CHECK(cudaEventCreate(&begun));
  CHECK(cudaEventCreate(&ended));
  for (int round = 0; round < rounds; round++) {
    // The host's part: in even rounds by its own hand, in odd ones by read(2).
    if (round % 2 == 0) {
      for (size_t i = 0; i < count; i++) {
        words[i] = i ^ round;
      }
    } else {
      REQUIRE(lseek(file, 0, SEEK_SET) == 0, "lseek: %s", std::strerror(errno));
      read_all(file, words, bytes);
    }
    double start = seconds();
    // A launch that does nothing sends what the host wrote, so that the events have the kernel alone.
    mix<<<1, 1>>>(words, 0, 0);
    CHECK(cudaEventRecord(begun));
    mix<<<256, 256>>>(words, count, 77 + round);
    launched();
    CHECK(cudaEventRecord(ended));
    double sent = seconds();
    CHECK(cudaDeviceSynchronize());
    waiting += seconds() - sent;
    launching += sent - start;
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, begun, ended));
    running += milliseconds * 1e-3;
    REQUIRE(lseek(file, 0, SEEK_SET) == 0, "lseek: %s", std::strerror(errno));
    write_all(file, words, bytes);

    // The file holds what the kernels made of it.
    for (size_t at = 0; at < count; at += written.size()) {
      size_t part = std::min(written.size(), count - at);
      ssize_t got = pread(file, written.data(), part * 8, at * 8);
      REQUIRE(got == static_cast<ssize_t>(part * 8), "pread gives %zd bytes", got);
      for (size_t i = 0; i < part; i++) {
        uint64_t expected = mixed((at + i) ^ (round & ~1), 77 + (round & ~1), at + i);
        if (round % 2 == 1) {
          expected = mixed(expected, 77 + round, at + i);
        }
        REQUIRE(written[i] == expected, "round %d: word %zu of the file is wrong", round, at + i);
      }
    }
  }
  // Calls that take several buffers, and a buffer of which a part alone is new.
  words[3] = 1;
  mix<<<1, 1>>>(words + 3, 1, 5);
  CHECK(cudaDeviceSynchronize());
  iovec parts[2] = {{words + 3, 8}, {words + 2, 8}};
  REQUIRE(pwritev(file, parts, 2, 0) == 16, "pwritev: %s", std::strerror(errno));
  uint64_t two[2];
  REQUIRE(pread(file, two, 16, 0) == 16 && two[0] == mixed(1, 5, 0) && two[1] == words[2],
      "pwritev wrote something else");
  close(file);
  CHECK(cudaFree(words));
  double each = 1e6 / rounds / pages;
  return ok("%zu MiB, %d rounds; a page of 4 KiB costs %.2f us at the launch, %.2f us at the wait and "
            "%.2f us in the kernel",
      bytes >> 20, rounds, launching * each, (waiting - running) * each, running * each);
}
