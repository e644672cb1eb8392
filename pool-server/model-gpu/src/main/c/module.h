// SPDX-License-Identifier: Apache-2.0
// Modules and their functions. The model reads of an image what its kernels and variables are called.
#pragma once

#include "driver.h"

enum { MAX_PARAMETERS = 64 };

struct function {
  struct function *next;
  struct module *module;
  char *name;
  uint32_t parameterCount;
  struct {
    uint32_t offset, bytes;
  } parameters[MAX_PARAMETERS];
  bool isLoaded;          // its code lies on the card
  struct work *(*make)(struct function *, struct stream *, const void *parameters, size_t bytes);
};

struct variable {
  struct variable *next;
  char *name;
  uint64_t bytes;
  CUdeviceptr address;
};

struct module {
  struct context *context;
  struct function *functions;
  struct variable *variables;
  bool isOpaque;          // compressed: whatever is asked for is there
  uint64_t codeBytes;     // of functions that are loaded
  CUdeviceptr code;
};

/** Reads an image into a module; false if it is none. */
bool image_read(struct module *module, const void *image);

struct function *module_add_function(struct module *module, const char *name, size_t length);
void module_add_variable(struct module *module, const char *name, size_t length, uint64_t bytes);

/** Has the code of a function on the card. The lock is held. */
CUresult function_load(struct function *function);

/** A launch that is yet to be submitted. The lock is held. */
struct work *launch_work(struct function *function, struct stream *stream, uint64_t blocks, const void *parameters,
                         size_t bytes);
