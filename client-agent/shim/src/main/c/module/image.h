// SPDX-License-Identifier: Apache-2.0
// Module images: PTX text, cubins, fatbins. Each is sent to the worker once, in pieces.
#pragma once

#include "core/driver.h"
#include "module/fatbin.h"
#include "transport/connection.h"

struct jit;

/**
 * An image in the program's memory. Code that nvcc compiled apart (-rdc) comes as several fatbins that the driver
 * links: they are sent one after the other as one image.
 */
struct context;

struct image {
  const void *first;
  const void *const *more;  // fatbins after the first
  uint32_t moreCount;
  uint64_t firstBytes, totalBytes;
  struct fatbin_choice choice;  // of the first, if it is a fatbin and the only one
};

/** Finds where an image lies and how long it is; CUDA_ERROR_INVALID_IMAGE if it is none. */
CUresult image_find(const void *given, struct image *image);

/** Leaves out of it what no GPU of the session would run, unless the program wants other code made of it. */
void image_choose(struct image *image, const struct jit *jit);

/** Returns whether there is memory; what a damaged header says of a length may not be so. */
bool image_mapped(const struct piece *piece);

/** Says once a program, if that is why an image was not loaded, that it is for other GPUs or drivers than this one. */
void image_explain(const struct image *image, CUdevice device, CUresult result);

/**
 * Sends an image to a context's connection, or with NULL to all connections, unless the server keeps it from
 * earlier; its number stands for it there from then on.
 */
CUresult image_send(const struct image *image, const struct context *context, uint32_t *number);

/** An image that goes to one connection, whose server may or may not keep it from earlier. */
struct image_offer {
  uint32_t number;
  bool open;  // the question was sent, and its answer not looked at
  struct call call;
  uint64_t found;
};

/**
 * Does the same as image_send, but leaves open, where it can, whether the server keeps the image. So a call that needs
 * the image can follow without a round trip in between; it answers CUDA_ERROR_INVALID_IMAGE if the image is missing.
 */
CUresult image_offer(const struct image *image, const struct context *context, struct image_offer *offer);

/** Returns whether the image is missing after image_offer: then image_deliver sends it. To be asked once, in any case. */
bool image_missing(struct image_offer *offer);

CUresult image_deliver(const struct image *image, const struct context *context, const struct image_offer *offer);

/** Drops an image where it was sent. */
void image_drop(uint32_t number, const struct context *context);

/** Reads a file, with a zero byte after it; the caller frees it. bytes may be NULL. */
CUresult image_read(const char *path, void **image, size_t *bytes);
