// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: blocks of device memory, and where they are mapped.
#pragma once

#include "core/handles.h"

/** A block; CUmemGenericAllocationHandle is its address. */
struct block {
  struct slot slot;
  uint64_t bytes;
  CUdevice device;
  int handleTypes;    // CUmemAllocationHandleType, as asked for
  uint32_t handles;   // how often it is held by its handle
  uint32_t mappings;
};

extern struct arena blocks;
