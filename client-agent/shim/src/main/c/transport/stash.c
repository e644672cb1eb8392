// SPDX-License-Identifier: Apache-2.0
#include "transport/stash.h"

#include "core/fork.h"
#include "core/lock.h"
#include "wire.h"

#include <string.h>
#include <sys/mman.h>

enum {
  SIZES = 3,
  BLOCKS = 64,  // of each size
};

/** Blocks are mapped when they are first needed, and kept. */
static const uint32_t sizes[SIZES] = {64 << 10, 256 << 10, MAX_DATA_BYTES};
static const int counts[SIZES] = {BLOCKS, BLOCKS / 2, BLOCKS / 4};

static struct {
  struct lock lock;
  uint8_t *blocks[SIZES][BLOCKS];
  uint64_t used[SIZES];  // a bit a block
} stash;

static void stash_reset(void) {
  stash.lock.word = 0;
  memset(stash.used, 0, sizeof stash.used);
}
ON_FORK(stash_reset);

/** Takes a block of one size; the stash is locked. */
static int take(int size) {
  for (int i = 0; i < counts[size]; i++) {
    if (stash.used[size] >> i & 1) continue;
    if (!stash.blocks[size][i]) {
      void *bytes = mmap(NULL, sizes[size], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (bytes == MAP_FAILED) return -1;
      stash.blocks[size][i] = bytes;
    }
    stash.used[size] |= 1ull << i;
    return size * BLOCKS + i;
  }
  return -1;
}

int stash_take(uint32_t bytes) {
  int block = -1;
  lock_take(&stash.lock);
  for (int size = 0; size < SIZES && block < 0; size++) {
    if (bytes <= sizes[size]) block = take(size);
  }
  lock_release(&stash.lock);
  return block;
}

uint8_t *stash_bytes(int block) { return stash.blocks[block / BLOCKS][block % BLOCKS]; }

void stash_give(int block) {
  lock_take(&stash.lock);
  stash.used[block / BLOCKS] &= ~(1ull << block % BLOCKS);
  lock_release(&stash.lock);
}
