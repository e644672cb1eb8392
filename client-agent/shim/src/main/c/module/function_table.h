// SPDX-License-Identifier: Apache-2.0
// The functions of an image: their names and parameters, fetched with the module.
#pragma once

#include "core/driver.h"
#include "core/lock.h"

struct parameter {
  uint32_t offset, bytes;
};

struct function_info {
  uint32_t index;  // in its table
  uint32_t parameterCount;
  uint32_t parameterBytes;  // from the first to the end of the last
  bool gaps;                // between parameters
  struct function_info *next;
  char *name;
  struct parameter parameters[];
};

/** Modules of one library share it. The infos stay where they are. */
struct function_table {
  struct lock lock;
  bool complete;  // it lists all there are
  uint32_t count, capacity, bucketCount;
  struct function_info **infos;
  struct function_info **buckets;
};

/**
 * Takes in the functions of a list, as moduleLoad answers it, that are not there yet, and says how many it
 * has; false if it is not well-formed or there is no memory.
 */
bool table_parse(struct function_table *table, const uint8_t *bytes, uint64_t length, uint32_t *entries);

struct function_info *table_find(const struct function_table *table, const char *name);

/** Adds one function, whose parameters are pairs of u32; NULL if they make no sense. */
struct function_info *table_add(struct function_table *table, const char *name, uint64_t nameBytes,
                                const uint8_t *parameters, uint64_t parameterCount);

void table_free(struct function_table *table);
