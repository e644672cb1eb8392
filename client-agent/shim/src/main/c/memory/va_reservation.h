// SPDX-License-Identifier: Apache-2.0
// Places of device memory in the address space of this process: nothing else may lie there, for then
// nobody could tell whether an address is the device's or the program's.
#pragma once

#include "context/context.h"

enum { VA_ATTEMPTS = 16 };

/** Device memory that lies where the program has memory; kept until a better place is found. */
struct misfits {
  uint64_t addresses[VA_ATTEMPTS];
  uint32_t count;
};

/** Reserves the pages of a range for the device, permanently; false if the program has something there. */
bool va_reserve(uint64_t base, uint64_t bytes);

/**
 * Whether an allocation has to be made once more because it lies where the program has memory. False,
 * with CUDA_ERROR_OUT_OF_MEMORY in *result, when it was made often enough, and if *result is an error.
 */
bool va_allocate_again(struct misfits *misfits, uint64_t base, uint64_t bytes, CUresult *result);

/** Frees the misfits; to be called after the last va_allocate_again. */
void va_misfits_free(struct misfits *misfits, struct context *context);

/** Gives a place memory of this process, at the same addresses as the device's; false if it is taken. */
bool va_make_accessible(uint64_t base, uint64_t bytes);

/** Ends what va_make_accessible has begun; the place stays the device's. */
void va_make_inaccessible(uint64_t base, uint64_t bytes);

/** Leaves what va_make_accessible has mapped to the program: no device memory may lie there any more. */
void va_release(uint64_t base, uint64_t bytes);
