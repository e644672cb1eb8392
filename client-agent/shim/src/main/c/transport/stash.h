// SPDX-License-Identifier: Apache-2.0
// The stash: blocks of memory for bytes that have been sent from the program's memory, and that the program may change
// before the worker acknowledges them.
#pragma once

#include <stdint.h>

/** The number of a block for so many bytes; -1 if all are in use, or there is no memory. */
int stash_take(uint32_t bytes);

uint8_t *stash_bytes(int block);

void stash_give(int block);
