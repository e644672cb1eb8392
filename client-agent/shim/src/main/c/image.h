// SPDX-License-Identifier: Apache-2.0
// Module images: PTX text, cubins, fatbins. Each is sent to the worker once, in pieces.
#pragma once

#include "driver.h"

/** Finds where an image lies and how long it is; CUDA_ERROR_INVALID_IMAGE if it is none. */
CUresult image_find(const void *given, const void **image, uint64_t *bytes);

/** Sends an image; its number stands for it from then on. */
CUresult image_send(const void *image, uint64_t bytes, uint32_t *number);

void image_drop(uint32_t number);

/** Reads a file, with a zero byte after it; the caller frees it. */
CUresult image_read(const char *path, void **image);
