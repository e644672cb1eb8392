// SPDX-License-Identifier: Apache-2.0
// Taking note of device memory that a worker has allocated.
#pragma once

#include "context/memory_ranges.h"

/** Adds device memory to the known ranges. The session ends if its addresses are taken in this process. */
void memory_note(struct context *context, uint64_t base, uint64_t bytes, enum range_kind kind);
