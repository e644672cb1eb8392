// SPDX-License-Identifier: Apache-2.0
#include "memory/mirror_blocks.h"

#include "memory/fingerprint.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum {
  SMALL_BYTES = 64 << 10,
  MEDIUM_BYTES = 4 << 20,
  MAX_BLOCKS = 1 << 18,  // of one mirror
};

uint64_t mirror_blocks(const struct mirror *mirror) {
  return (mirror->bytes + mirror->blockBytes - 1) / mirror->blockBytes;
}

uint64_t mirror_block_bytes(const struct mirror *mirror, uint64_t block) {
  uint64_t offset = block * mirror->blockBytes;
  uint64_t left = mirror->bytes - offset;
  return left < mirror->blockBytes ? left : mirror->blockBytes;
}

uint64_t mirror_print(const struct mirror *mirror, uint64_t block) {
  return fingerprint(mirror->host + block * mirror->blockBytes, mirror_block_bytes(mirror, block));
}

uint32_t mirror_choose_block(uint64_t bytes) {
  uint32_t block = bytes <= SMALL_BYTES ? 64 : bytes <= MEDIUM_BYTES ? 512 : 4096;
  while (bytes / block >= MAX_BLOCKS) block *= 2;
  return block;
}

uint8_t *mirror_make_shadow(const struct mirror *mirror) {
  void *memory = mmap(NULL, mirror->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

bool mirror_take_change(struct mirror *mirror, uint64_t block) {
  if (mirror->shadow) {
    uint64_t at = block * mirror->blockBytes, bytes = mirror_block_bytes(mirror, block);
    if (mirror->known && !memcmp(mirror->shadow + at, mirror->host + at, bytes)) return false;
    memcpy(mirror->shadow + at, mirror->host + at, bytes);
    return true;
  }
  // Taken before the block is sent: a change that comes in between is then noticed next time.
  uint64_t print = mirror_print(mirror, block);
  if (print == mirror->prints[block]) return false;
  mirror->prints[block] = print;
  return true;
}

static void copy_word(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  if (bytes == 2 * MIRROR_WORD_BYTES && (uintptr_t)to % bytes == 0) {
    uint64_t value;
    memcpy(&value, from, sizeof value);
    atomic_store_explicit((_Atomic uint64_t *)(void *)to, value, memory_order_release);
  } else if (bytes == MIRROR_WORD_BYTES && (uintptr_t)to % bytes == 0) {
    uint32_t value;
    memcpy(&value, from, sizeof value);
    atomic_store_explicit((_Atomic uint32_t *)(void *)to, value, memory_order_release);
  } else {
    memcpy(to, from, bytes);
  }
}

void mirror_merge(struct mirror *mirror, uint64_t block) {
  uint64_t at = block * mirror->blockBytes, end = at + mirror_block_bytes(mirror, block), bytes;
  for (; at < end; at += bytes) {
    const uint8_t *now = mirror->fetched + at, *before = mirror->shadow + at;
    bytes = end - at < MIRROR_WORD_BYTES ? end - at : MIRROR_WORD_BYTES;
    if (!memcmp(now, before, bytes)) continue;
    // A value of two words is seen as a whole.
    bool two = at % (2 * MIRROR_WORD_BYTES) == 0 && end - at >= 2 * MIRROR_WORD_BYTES &&
               memcmp(now + MIRROR_WORD_BYTES, before + MIRROR_WORD_BYTES, MIRROR_WORD_BYTES) != 0;
    if (two) bytes = 2 * MIRROR_WORD_BYTES;
    copy_word(mirror->host + at, now, bytes);
    memcpy(mirror->shadow + at, now, bytes);
  }
}
