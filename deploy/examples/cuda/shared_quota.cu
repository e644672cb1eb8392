// SPDX-License-Identifier: Apache-2.0
// The memory of a lease between two of its processes: in small pieces, together they have all of it to the last byte,
// and each is told how much the other has left.
// processes: 2
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_entry.h"

static const size_t MIB = 1 << 20;
static const size_t STEP = 512;

struct Block {
  CUdeviceptr address;
  size_t bytes;
};

static int other;
static std::vector<Block> blocks;
static size_t used;

// Tells the other process a number and waits for its own.
static size_t exchange(size_t mine) {
  size_t theirs;
  REQUIRE(write(other, &mine, sizeof mine) == sizeof mine, "the other process is gone");
  REQUIRE(read(other, &theirs, sizeof theirs) == sizeof theirs, "the other process is gone");
  return theirs;
}

static void meet() { exchange(0); }

static size_t free_bytes() {
  size_t now, all;
  DRIVER(ENTRY(cuMemGetInfo)(&now, &all));
  return now;
}

static bool take(size_t bytes) {
  Block made{0, (bytes + STEP - 1) / STEP * STEP};
  CUresult result = ENTRY(cuMemAlloc)(&made.address, bytes);
  if (result == CUDA_SUCCESS) {
    blocks.push_back(made);
    used += made.bytes;
  }
  REQUIRE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes: %d", bytes, result);
  return result == CUDA_SUCCESS;
}

static void release(size_t which) {
  DRIVER(ENTRY(cuMemFree)(blocks[which].address));
  used -= blocks[which].bytes;
  blocks[which] = blocks.back();
  blocks.pop_back();
}

static void fill(size_t largest) {
  for (size_t bytes = largest; bytes >= STEP; bytes /= 2) {
    while (take(bytes)) {
    }
  }
}

static void share_memory(bool first) {
  CHECK(cudaFree(nullptr));
  meet();
  const size_t start = free_bytes();
  meet();
  Numbers numbers(first ? 5 : 7);
  for (int i = 0; i < 20000; i++) {
    REQUIRE(take(1 + numbers.next() % 4096), "there is no memory for small block %d", i);
    if (numbers.next() % 3 == 0) {
      release(numbers.next() % blocks.size());
    }
  }
  // An answer, so that the server has made all of them before the other process asks.
  free_bytes();
  size_t left = start - used - exchange(used);
  size_t told = free_bytes();
  REQUIRE(told == left, "bytes left: %zu, and said to be %zu", left, told);
  meet();

  fill(MIB);
  meet();
  // One after the other: what either had been granted and not used is had by both now.
  for (int turn = 0; turn < 2; turn++) {
    if (first == (turn == 0)) {
      fill(STEP);
    }
    meet();
  }
  size_t theirs = exchange(used);
  REQUIRE(used + theirs == start && free_bytes() == 0, "of %zu bytes the processes have %zu and %zu", start, used,
      theirs);
  meet();

  while (!blocks.empty()) {
    release(blocks.size() - 1);
  }
  free_bytes();
  meet();
  REQUIRE(free_bytes() == start, "%zu of %zu bytes are lost", start - free_bytes(), start);
  meet();
}

int main() {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets");
  pid_t child = fork();
  REQUIRE(child >= 0, "no process");
  other = ends[child == 0];
  close(ends[child != 0]);
  share_memory(child != 0);
  if (child == 0) {
    return 0;
  }
  int status;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0, "the other process ended with %d", status);
  return ok("small blocks of two processes");
}
