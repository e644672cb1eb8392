// SPDX-License-Identifier: Apache-2.0
// Page-locked memory that kernels see too: a mirror (mirror.h) of device memory, which allocated memory
// has from the start, at the same address, and other memory once its device address is asked for.
#pragma once

#include "context/context.h"
#include "core/ranges.h"

/** Allocates page-locked memory that devices find at the program's address. */
CUresult mapped_allocate(struct context *context, uint64_t bytes, uint32_t flags, void **memory);

/**
 * Gives page-locked memory around an address a copy on the device; any other address is left alone. Sets
 * `moved`, which it never clears, if kernels find the memory at another address than the program.
 */
CUresult mapped_make(uint64_t address, bool *moved);

/** The address at which kernels find what the program has at one; the same where there is no copy. */
uint64_t mapped_translate(uint64_t address);

/** The device's copy of page-locked memory that begins here; false if it has none. */
bool mapped_find(uint64_t host, struct range *mapped);

/** Page-locked memory goes, and the device's copy with it; whether the pages went, too. */
bool mapped_forget(const struct range *host);
