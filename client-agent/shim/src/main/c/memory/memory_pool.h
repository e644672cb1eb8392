// SPDX-License-Identifier: Apache-2.0
// Memory pools: each device's default one, and those that the program makes.
#pragma once

#include "core/handles.h"

struct context;

struct pool {
  struct slot slot;
  CUdevice device;
  uint32_t number;          // on the call stream: 1 + the device's ordinal for a default pool
  int handleTypes;          // CUmemAllocationHandleType, as asked for
  uint64_t readers, writers;  // bit of a device: what other devices may do with its memory
};

extern struct arena pools;

/** The pool that stream-ordered allocations on a device come from. NULL: its default pool. */
struct pool *pool_of_device(CUdevice device);

/** The device whose memory a location and a type of allocations stand for. */
CUresult pool_device(const CUmemLocation *location, CUmemAllocationType type, CUdevice *device);

/** The number of a pool. *context becomes one of the pool's connection. */
CUresult pool_number(CUmemoryPool handle, struct context **context, uint32_t *number);
