// SPDX-License-Identifier: Apache-2.0
// Modules and their functions. The model reads of an image what its kernels and variables are called.
#pragma once

#include "driver.h"

enum { MAX_PARAMETERS = 64, FUNCTION_ATTRIBUTES = 16 };

struct function {
  struct function *next;
  struct module *module;
  char *name;
  uint32_t parameterCount;
  struct {
    uint32_t offset, bytes;
  } parameters[MAX_PARAMETERS];
  uint64_t sharedBytes;   // of a block, without those that a launch asks for
  uint32_t maxThreads;    // that the program promises; 0: it does not
  int told[FUNCTION_ATTRIBUTES];  // attributes as the program has set them
  uint32_t isTold;        // a bit for each of those
  bool isLoaded;          // its code lies on the card
  struct work *(*make)(struct function *, struct stream *, const void *parameters, size_t bytes);
};

struct variable {
  struct variable *next;
  char *name;
  uint64_t bytes;
  void *initial;          // that many bytes; NULL: zeros
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

/** The same for a text of PTX. */
bool ptx_read(struct module *module, const char *text);

struct function *module_add_function(struct module *module, const char *name, size_t length);
struct variable *module_add_variable(struct module *module, const char *name, size_t length, uint64_t bytes);

/** Initial value that PTX gives a variable whose elements have so many bytes. The caller frees it. */
void *ptx_values(const char *text, uint64_t elementBytes, uint64_t bytes);

/** Returns whether a word is one of those of a kernel's name: of `_Z9will_hangv` they are `will` and `hang`. */
bool name_says(const char *name, const char *word);

/** Has the code of a function on the card. The lock is held. */
CUresult function_load(struct function *function);

/** A launch that is yet to be submitted. The lock is held. */
struct work *launch_work(struct function *function, struct stream *stream, uint64_t blocks, const void *parameters,
                         size_t bytes);
