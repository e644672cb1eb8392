// SPDX-License-Identifier: Apache-2.0
// Module images: PTX text, cubins, fatbins. Each is sent to the worker once, in pieces.
#pragma once

#include "driver.h"

/**
 * Where an image lies. Code that nvcc compiled apart (-rdc) comes as several fatbins that the driver
 * links: they are sent one after the other as one image.
 */
struct context;

struct image {
  const void *first;
  const void *const *more;  // fatbins after the first
  uint32_t moreCount;
  uint64_t firstBytes, totalBytes;
};

/** Finds where an image lies and how long it is; CUDA_ERROR_INVALID_IMAGE if it is none. */
CUresult image_find(const void *given, struct image *image);

/** Sends an image to a context's link, or with NULL to all links; its number stands for it there from then on. */
CUresult image_send(const struct image *image, const struct context *context, uint32_t *number);

/** Drops an image where it was sent. */
void image_drop(uint32_t number, const struct context *context);

/** Reads a file, with a zero byte after it; the caller frees it. bytes may be NULL. */
CUresult image_read(const char *path, void **image, size_t *bytes);
