// SPDX-License-Identifier: Apache-2.0
// Libraries: images that belong to no context. A module is made of one in each context that needs it.
#pragma once

#include "core/handles.h"
#include "module/module.h"

struct library_module {
  struct library_module *next;
  uint64_t contextId;
  struct module *module;
};

struct library {
  struct slot slot;
  struct lock lock;
  uint32_t image;
  struct jit *jit;
  struct function_table table;
  struct library_module *modules;
  struct kernel **kernels;  // by index in the table
  uint32_t kernelCapacity;
};

struct kernel {
  struct slot slot;
  struct library *library;
  struct function_info *info;
  struct function *_Atomic latest;  // the function it last was
};

extern struct arena libraries, kernels;

/** The function a kernel is in a context. */
CUresult kernel_function(struct kernel *kernel, struct context *context,
                         struct function **function);

/** The module of a library in a context, made at the first question. */
CUresult library_module(struct library *library, struct context *context, struct module **module);

/** A module of a library in any context: the names of its kernels are known once it is loaded. */
CUresult library_any_module(struct library *library, struct module **module);

/** The kernel of a function of a library, made at the first question. */
CUresult library_kernel(struct library *library, struct function_info *info, struct kernel **kernel);

/** The function of a kernel on a device: in the current context if that is the device's, else in its primary one. */
CUresult kernel_on_device(CUkernel handle, CUdevice device, struct function **function);

/** The kernel that a function of a library is in one context; NULL if nobody has asked for it. */
struct kernel *kernel_behind(const struct function *function);
