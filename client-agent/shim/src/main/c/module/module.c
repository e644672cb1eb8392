// SPDX-License-Identifier: Apache-2.0
#include "module/module.h"

#include "context/memory_ranges.h"
#include "memory/memory_note.h"
#include "module/image.h"
#include "module/nccl_kernels.h"
#include "ops.h"
#include "shim.h"

#include <stdlib.h>
#include <string.h>

ARENA(modules, module, 1 << 16, 0x4d4f4431);
ARENA(functions, function, 1 << 19, 0x46554e31);

enum { MAX_LIST_BYTES = MAX_DATA_BYTES };

HOOK_TABLE(module_end, module_hook);

CUresult module_make(struct context *context, uint32_t image, const struct jit *jit,
                     struct function_table *table, struct library *library,
                     struct module **made) {
  struct module *module = arena_take(&modules);
  if (!module) return CUDA_ERROR_OUT_OF_MEMORY;
  struct variable info = {.capacity = jit->infoCapacity};
  struct variable error = {.capacity = jit->errorCapacity};
  struct variable list = {.capacity = table->complete ? 0 : MAX_LIST_BYTES};
  void *payload;
  CUresult result = context_result(
      context, op_moduleLoad(context->number, module->slot.number, image,
                             jit->count ? jit->values : NULL,
                             jit->count * sizeof(struct jit_value), &info, &error, &list,
                             &payload));
  jit_report(jit, info.data, info.length, error.data, error.length);
  if (!result && !table->complete) {
    uint32_t listed;
    if (!table_parse(table, list.data, list.length, &listed)) {
      result = session_malformed("a list of functions that is none");
    }
    table->complete = listed > 0;
  }
  free(payload);
  module->context = context;
  module->table = table;
  module->library = library;
  arena_publish(&modules, module);
  if (result) {
    arena_give(&modules, module);
    return result;
  }
  *made = module;
  return CUDA_SUCCESS;
}

/** Frees what a module holds; its handle is bad already. */
static void release(struct module *module) {
  FOR_EACH_HOOK(module_end, module_hook, hook) (*hook)(module);
  for (uint32_t i = 0; i < module->madeCapacity; i++) {
    struct function *function = module->made[i];
    if (function) arena_give(&functions, function);
  }
  free(module->made);
  module->made = NULL;
  module->madeCapacity = 0;
  if (!module->library) {
    table_free(module->table);
    free(module->table);
  }
  module->table = NULL;
}

CUresult module_end(struct module *module, bool send) {
  CUresult result = CUDA_SUCCESS;
  if (send) result = op_moduleUnload(module->context->number, module->slot.number);
  if (!arena_give(&modules, module)) return CUDA_ERROR_INVALID_HANDLE;
  release(module);
  return result;
}

static void modules_forget(struct context *context) {
  for (uint32_t i = 0; i < arena_used(&modules); i++) {
    struct module *module = arena_at(&modules, i);
    if (module && module->context == context) module_end(module, false);
  }
}
ON_CONTEXT_END(modules, modules_forget);

/** Room for the functions of the table; the module is locked. */
static bool make_room(struct module *module, uint32_t index) {
  if (index < module->madeCapacity) return true;
  uint32_t capacity = index + index / 2 + 16;
  struct function **made = realloc(module->made, capacity * sizeof *made);
  if (!made) return false;
  memset(made + module->madeCapacity, 0, (capacity - module->madeCapacity) * sizeof *made);
  module->made = made;
  module->madeCapacity = capacity;
  return true;
}

/** Takes a function, live from now on, into the module, which is locked. */
static void adopt(struct module *module, const struct function_info *info,
                  struct function *function) {
  function->context = module->context;
  function->module = module;
  function->info = info;
  module->made[info->index] = function;
  arena_publish(&functions, function);
}

/** Asks for one function, which its number is bound to thereby; the table is locked. */
static CUresult ask_for(struct module *module, const char *name, struct function_info **info) {
  struct function *function = arena_take(&functions);
  if (!function) return CUDA_ERROR_OUT_OF_MEMORY;
  struct variable parameters = {.capacity = MAX_LIST_BYTES};
  void *payload;
  CUresult result = context_result(
      module->context,
      op_moduleGetFunction(module->context->number, module->slot.number, function->slot.number,
                           name, strlen(name), &parameters, &payload));
  if (!result) {
    *info = table_add(module->table, name, strlen(name), parameters.data,
                      parameters.length / sizeof(struct parameter));
    lock_take(&module->lock);
    if (*info && make_room(module, (*info)->index)) {
      adopt(module, *info, function);
    } else {
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    lock_release(&module->lock);
  }
  free(payload);
  if (result) {
    arena_publish(&functions, function);
    arena_give(&functions, function);
  }
  return result;
}

/** Asks for a part of the list of all functions; the table is locked. */
static CUresult ask_for_part(struct module *module, uint32_t first, uint64_t *count, uint32_t *listed) {
  struct variable list = {.capacity = MAX_LIST_BYTES};
  void *payload;
  CUresult result = context_result(
      module->context,
      op_moduleListFunctions(module->context->number, module->slot.number, first, &list, &payload));
  if (!result && (list.length < sizeof *count ||
                  !table_parse(module->table, list.data + sizeof *count, list.length - sizeof *count, listed))) {
    result = session_malformed("a list of functions that is none");
  }
  if (!result) memcpy(count, list.data, sizeof *count);
  free(payload);
  return result;
}

CUresult module_list(struct module *module) {
  CUresult result = CUDA_SUCCESS;
  uint32_t first = 0, listed = 1;
  uint64_t count = 1;
  lock_take(&module->table->lock);
  if (!module->table->complete) {
    while (!result && listed && first < count) {
      result = ask_for_part(module, first, &count, &listed);
      first += listed;
    }
    module->table->complete = !result && first >= count;
  }
  lock_release(&module->table->lock);
  return result;
}

CUresult module_info(struct module *module, const char *name, struct function_info **info) {
  CUresult result = CUDA_SUCCESS;
  nccl_kernel_asked(name);
  lock_take(&module->table->lock);
  *info = table_find(module->table, name);
  if (!*info) {
    result = module->table->complete ? CUDA_ERROR_NOT_FOUND : ask_for(module, name, info);
  }
  lock_release(&module->table->lock);
  return result;
}

CUresult module_function(struct module *module, const struct function_info *info,
                         struct function **function) {
  CUresult result = CUDA_SUCCESS;
  lock_take(&module->lock);
  struct function *own = NULL;
  if (!make_room(module, info->index)) {
    result = CUDA_ERROR_OUT_OF_MEMORY;
  } else if (!(own = module->made[info->index])) {
    own = arena_take(&functions);
    if (own) {
      result = op_moduleBindFunction(module->context->number, module->slot.number,
                                     own->slot.number, info->name, strlen(info->name));
      adopt(module, info, own);
    } else {
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  lock_release(&module->lock);
  *function = own;
  return result;
}

CUresult module_global(struct module *module, const char *name, CUdeviceptr *address,
                       size_t *bytes) {
  uint64_t base = 0, length = 0;
  CUresult result = context_result(
      module->context, op_moduleGetGlobal(module->context->number, module->slot.number, name,
                                          strlen(name), &base, &length));
  if (result) return result;
  if (!ranges_overlap(&deviceRanges, base, length)) {
    memory_note(module->context, base, length, RANGE_GLOBAL);
  }
  if (address) *address = base;
  if (bytes) *bytes = length;
  return CUDA_SUCCESS;
}

// Entry points

static CUresult load(CUmodule *handle, const void *given, unsigned int optionCount,
                     CUjit_option *options, void **optionValues) {
  struct context *context;
  struct jit jit;
  struct image image;
  struct image_offer offer;
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = context_current(&context);
  if (!result) result = jit_read(&jit, optionCount, options, optionValues);
  if (!result) result = image_find(given, &image);
  if (result) return result;
  image_choose(&image, &jit);
  struct function_table *table = calloc(1, sizeof *table);
  if (!table) return CUDA_ERROR_OUT_OF_MEMORY;
  struct module *module = NULL;
  result = image_offer(&image, context, &offer);
  if (!result) result = module_make(context, offer.number, &jit, table, NULL, &module);
  if (image_missing(&offer) && result == CUDA_ERROR_INVALID_IMAGE) {
    result = image_deliver(&image, context, &offer);
    if (!result) result = module_make(context, offer.number, &jit, table, NULL, &module);
  }
  image_drop(offer.number, context);
  image_explain(&image, context->device, result);
  if (result) {
    table_free(table);
    free(table);
    return result;
  }
  *handle = (CUmodule)(void *)module;
  return CUDA_SUCCESS;
}

CUresult shim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                 CUjit_option *options, void **optionValues) {
  return load(module, image, numOptions, options, optionValues);
}

CUresult shim_cuModuleLoad(CUmodule *module, const char *fname) {
  void *image;
  CUresult result = image_read(fname, &image, NULL);
  if (result) return result;
  result = load(module, image, 0, NULL, NULL);
  free(image);
  return result;
}

CUresult shim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
  if (!mode) return CUDA_ERROR_INVALID_VALUE;
  const char *wanted = getenv("CUDA_MODULE_LOADING");
  *mode = wanted && strcmp(wanted, "EAGER") == 0 ? 1 : 2;
  return CUDA_SUCCESS;
}

CUresult shim_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                         CUmodule mod) {
  struct module *module = arena_find(&modules, mod);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (!functions || !numFunctions) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = module_list(module);
  if (result) return result;
  for (uint32_t i = 0; i < numFunctions && i < module->table->count; i++) {
    struct function *function;
    result = module_function(module, module->table->infos[i], &function);
    if (result) return result;
    functions[i] = (CUfunction)(void *)function;
  }
  return CUDA_SUCCESS;
}
