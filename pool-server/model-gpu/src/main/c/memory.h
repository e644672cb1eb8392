// SPDX-License-Identifier: Apache-2.0
// Device memory of this process. All with the lock held.
#pragma once

#include "driver.h"

/** Blocks of a card. */
struct blocks {
  uint32_t device, count;
  uint32_t *numbers;
};

enum origin {
  ORIGIN_SMALL,   // shares a block
  ORIGIN_BLOCKS,  // has blocks of its own
  ORIGIN_MAPPED,  // the program has mapped blocks there
  ORIGIN_OPENED,  // is another process's
};

struct allocation {
  struct allocation *next;
  uint32_t device;
  CUdeviceptr address;
  uint64_t bytes;
  enum origin origin;
  struct blocks blocks;
  struct pool *pool;  // from which it is, if any
};

bool blocks_take(uint32_t device, uint64_t bytes, struct blocks *blocks);
void blocks_give(struct blocks *blocks);

/** Maps some of the blocks at an address that addresses_take has given. */
bool blocks_map(const struct blocks *blocks, uint32_t first, uint32_t count, CUdeviceptr address, int protection);

/** Addresses of this process at which nothing is; 0 if there are none. */
CUdeviceptr addresses_take(uint64_t bytes, uint64_t wanted);
void addresses_give(CUdeviceptr address, uint64_t bytes);

/** An allocation of a pool is freed as others are, at once: the pool has no part of it any more. */
void pool_forget(struct allocation *allocation);

/** Returns whether a device may reach what the program has mapped at an address. */
bool virtual_allows(CUdeviceptr address, uint32_t device, bool writing);

/** The allocation around an address, or NULL. */
struct allocation *memory_find(CUdeviceptr address);
struct allocation *memory_note(uint32_t device, CUdeviceptr address, uint64_t bytes, enum origin origin);
void memory_forget(struct allocation *allocation);

/** The blocks in which an allocation of this process lies; NULL if it is of another kind. */
const struct blocks *memory_blocks(const struct allocation *allocation);
