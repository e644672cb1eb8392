// SPDX-License-Identifier: Apache-2.0
// A mirror's blocks, and how a change of one is noticed.
#pragma once

#include "context/context.h"

enum { MIRROR_WORD_BYTES = 4 };

struct mirror {
  struct mirror *next;
  uint8_t *host;
  uint64_t device, bytes;
  uint32_t blockBytes;
  struct context *context;
  uint64_t contextId;
  // The contents when both sides last were the same: of mapped memory all of it, which tells what word
  // the host changed; of other memory the fingerprints of the blocks, 0 where it is not known.
  uint8_t *shadow;
  uint8_t *fetched;  // what the device had, while kernels run; NULL: it was not asked for yet
  uint64_t *prints;
  bool known;         // what the shadow has, the device has had
  bool always;        // looked through at every launch
  bool hostMayWrite;  // since it was last looked through
};

/** The number of blocks. */
uint64_t mirror_blocks(const struct mirror *mirror);

/** The length of a block; the last may be shorter than the others. */
uint64_t mirror_block_bytes(const struct mirror *mirror, uint64_t block);

/** The fingerprint of a block as the host has it. */
uint64_t mirror_print(const struct mirror *mirror, uint64_t block);

/** The length of blocks: small memory has small ones, so that host and device may change neighbouring bytes. */
uint32_t mirror_choose_block(uint64_t bytes);

/** Zeroed memory that costs nothing until it is used; NULL if there is none. */
uint8_t *mirror_make_shadow(const struct mirror *mirror);

/** Returns whether the host changed a block; what it has now is what both sides are going to have. */
bool mirror_take_change(struct mirror *mirror, uint64_t block);

/** Takes over the words of a fetched block that the device changed; the host may be writing to others. */
void mirror_merge(struct mirror *mirror, uint64_t block);
