// SPDX-License-Identifier: Apache-2.0
// Files that live in memory alone, for other processes to be given their descriptors.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum memory_file_seals {
  MEMORY_FILE_LENGTH = 7,  // F_SEAL_SEAL, F_SEAL_SHRINK and F_SEAL_GROW
  MEMORY_FILE_ALL = 15,    // and F_SEAL_WRITE
};

/** Returns whether this process may write so far into a file; what goes beyond its limit ends it (SIGXFSZ). */
bool memory_file_may_have(uint64_t bytes);

/** Makes an empty file, whose descriptor an executed program does not inherit unless told to; -1 if that fails. */
int memory_file_make(const char *name);

/** Has nobody change the length of a file, or nothing of it at all. */
bool memory_file_seal(int file, enum memory_file_seals seals);
