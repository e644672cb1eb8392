// SPDX-License-Identifier: Apache-2.0
// The container that nvcc puts code for several architectures into, and what of it some GPUs can use.
//
//   container                     entry (repeated until the container ends)
//    0 u32 magic 0xba55ed50        0 u16 kind   4 u32 bytes of this header   8 u64 bytes after it
//    4 u16 version                28 u32 architecture: 90 of sm_90 and of compute_90
//    6 u16 bytes of the header
//    8 u64 bytes after it
#pragma once

#include "core/driver.h"

#define MAX_IMAGE_BYTES ((uint64_t)4 << 30)

enum { FATBIN_MAGIC = (int)0xba55ed50 };

struct fatbin {
  uint32_t magic;
  uint16_t version;
  uint16_t headerBytes;
  uint64_t bodyBytes;
};

/** A stretch of an image. */
struct piece {
  const void *at;
  uint64_t bytes;
};

enum { MAX_FATBIN_PIECES = 64, MAX_CAPABILITIES = 64 };

/** A container with some of its entries. */
struct fatbin_choice {
  struct fatbin header;
  uint32_t pieceCount;  // 0: no choice was made
  struct piece pieces[MAX_FATBIN_PIECES];  // the first is the header
};

/** The length of the container there, header included; 0 if there is none or it is too long. */
uint64_t fatbin_bytes(const void *at);

/**
 * Leaves out code that none of these GPUs would run: of machine code all but the newest that is of the
 * GPU's own generation and not newer than the GPU, of PTX all but the newest that is not newer. Other
 * kinds of entry stay. Where a GPU would be left with nothing, or the container is not understood, all
 * stays.
 *
 * @param capabilities of the GPUs: 90 for 9.0
 */
void fatbin_choose(const void *at, const uint32_t *capabilities, uint32_t count, struct fatbin_choice *choice);

/** Describes the code in a container: "machine code for 8.0, 9.0; PTX for 9.0". */
void fatbin_describe(const void *at, char *text, size_t textBytes);
