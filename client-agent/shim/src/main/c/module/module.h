// SPDX-License-Identifier: Apache-2.0
// Modules and their functions, in one context each.
#pragma once

#include "context/context.h"
#include "core/handles.h"
#include "module/function_table.h"
#include "module/jit_options.h"

struct library;
struct legacy_launch;

enum {
  CACHED_ATTRIBUTES = 17,  // all of CUfunction_attribute
  KNOWN_OCCUPANCIES = 4,
};

/** A question of how many blocks of a kernel run at once on a multiprocessor, and its answer. */
struct occupancy {
  uint64_t sharedBytes;
  int32_t blockSize;  // 0: no question
  uint32_t flags;
  int32_t blocks;
};

struct function {
  struct slot slot;
  struct context *context;
  struct module *module;
  const struct function_info *info;
  struct legacy_launch *legacy;
  _Atomic uint32_t cached;  // bit i: attribute i is known
  _Atomic uint32_t absent;  // bit i: there is no attribute i
  int32_t attributes[CACHED_ATTRIBUTES];
  struct occupancy occupancies[KNOWN_OCCUPANCIES];  // the latest; of known_occupancy.c
  uint32_t nextOccupancy, changes;  // of what answers depend on
};

struct module {
  struct slot slot;
  struct context *context;
  struct function_table *table;
  struct library *library;  // that owns the table, if the module is one of a library
  struct lock lock;         // guards what follows
  struct function **made;   // by index in the table
  uint32_t madeCapacity;
};

extern struct arena modules, functions;

typedef void module_hook(struct module *module);

/** Adds a function that forgets what belongs to a module that ends, while its functions are still there. */
#define ON_MODULE_END(function) HOOK(module_end, module_hook, function)

/** Makes a module of an image that was sent. table: filled unless it is complete. */
CUresult module_make(struct context *context, uint32_t image, const struct jit *jit,
                     struct function_table *table, struct library *library,
                     struct module **made);

/** Ends a module and its functions; sent to the worker unless its context is gone. */
CUresult module_end(struct module *module, bool send);

/** Has the table list all functions of the module: those of a driver are asked for one by one until then. */
CUresult module_list(struct module *module);

/** Finds a function's description by name; asks the worker if its list was not complete. */
CUresult module_info(struct module *module, const char *name, struct function_info **info);

/** The function of this module, made at the first question. */
CUresult module_function(struct module *module, const struct function_info *info,
                         struct function **function);

CUresult module_global(struct module *module, const char *name, CUdeviceptr *address,
                       size_t *bytes);
