// SPDX-License-Identifier: Apache-2.0
#include "module/library.h"

#include "context/primary_context.h"
#include "memory/managed_memory.h"
#include "module/function_attributes.h"
#include "module/image.h"
#include "shim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

ARENA(libraries, library, 1 << 16, 0x4c494231);
ARENA(kernels, kernel, 1 << 19, 0x4b524e31);

// CUlibraryOption
enum { FUNCTION_TABLE = 0, BINARY_IS_PRESERVED = 1 };

/** The library's module in a context, made at the first question; the library is locked. */
static CUresult module_locked(struct library *library, struct context *context,
                              struct module **module) {
  struct library_module *entry = library->modules;
  while (entry && entry->contextId != context->id) entry = entry->next;
  if (!entry) {
    entry = calloc(1, sizeof *entry);
    if (!entry) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = module_make(context, library->image, library->jit, &library->table, library,
                                  &entry->module);
    if (result) {
      free(entry);
      return result;
    }
    entry->contextId = context->id;
    entry->next = library->modules;
    library->modules = entry;
  }
  *module = entry->module;
  return CUDA_SUCCESS;
}

CUresult library_module(struct library *library, struct context *context, struct module **module) {
  lock_take(&library->lock);
  CUresult result = module_locked(library, context, module);
  lock_release(&library->lock);
  return result;
}

CUresult kernel_function(struct kernel *kernel, struct context *context,
                         struct function **function) {
  struct function *latest = atomic_load_explicit(&kernel->latest, memory_order_acquire);
  if (LIKELY(latest && latest->context == context && slot_is_live(&latest->slot, &functions) &&
             latest->info == kernel->info)) {
    *function = latest;
    return CUDA_SUCCESS;
  }
  struct module *module;
  CUresult result = library_module(kernel->library, context, &module);
  if (!result) result = module_function(module, kernel->info, function);
  if (!result) atomic_store_explicit(&kernel->latest, *function, memory_order_release);
  return result;
}

static void libraries_forget(struct context *context) {
  for (uint32_t i = 0; i < arena_used(&libraries); i++) {
    struct library *library = arena_at(&libraries, i);
    if (!library) continue;
    lock_take(&library->lock);
    struct library_module **at = &library->modules;
    while (*at && (*at)->contextId != context->id) at = &(*at)->next;
    struct library_module *entry = *at;
    if (entry) *at = entry->next;
    lock_release(&library->lock);
    if (entry) module_end(entry->module, false);
    free(entry);
  }
}
ON_CONTEXT_END(libraries, libraries_forget);

static void library_free(struct library *library) {
  for (struct library_module *entry = library->modules; entry;) {
    struct library_module *next = entry->next;
    module_end(entry->module, true);
    free(entry);
    entry = next;
  }
  for (uint32_t i = 0; i < library->kernelCapacity; i++) {
    if (library->kernels[i]) arena_give(&kernels, library->kernels[i]);
  }
  free(library->kernels);
  free(library->jit);
  table_free(&library->table);
  image_drop(library->image, NULL);
}

/** Sends a library's image and makes its module in a context. */
static CUresult send_and_load(struct library *library, const struct image *image, struct context *context) {
  struct image_offer offer;
  struct module *module;
  CUresult result = image_offer(image, NULL, &offer);
  library->image = offer.number;
  if (!result) result = library_module(library, context, &module);
  if (image_missing(&offer) && result == CUDA_ERROR_INVALID_IMAGE) {
    result = image_deliver(image, NULL, &offer);
    if (!result) result = library_module(library, context, &module);
  }
  return result;
}

static CUresult load(CUlibrary *handle, const void *given, unsigned int optionCount,
                     CUjit_option *options, void **optionValues) {
  struct image image;
  struct context *context;
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = image_find(given, &image);
  if (result) return result;
  struct jit *jit = malloc(sizeof *jit);
  struct library *library = jit ? arena_take(&libraries) : NULL;
  if (!library) {
    free(jit);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  library->jit = jit;
  arena_publish(&libraries, library);
  result = jit_read(jit, optionCount, options, optionValues);
  if (!result) {
    image_choose(&image, jit);
    // With a current context, a bad image shows now.
    if (context_current(&context) == CUDA_SUCCESS) {
      result = send_and_load(library, &image, context);
      image_explain(&image, context->device, result);
    } else {
      result = image_send(&image, NULL, &library->image);
    }
  }
  // The program's buffers are its own again.
  jit->infoLog = jit->errorLog = NULL;
  jit->infoFilled = jit->errorFilled = jit->wallTime = NULL;
  jit->infoCapacity = jit->errorCapacity = 0;
  if (result) {
    library_free(library);
    arena_give(&libraries, library);
    return result;
  }
  *handle = (CUlibrary)(void *)library;
  return CUDA_SUCCESS;
}

/** Options are hints; the one by which cuBLASLt says that an image stays where it is has no value. */
static bool library_options(unsigned int count, const CUlibraryOption *options, void **values,
                            bool inMemory) {
  if (count && !options) return false;
  for (unsigned int i = 0; i < count; i++) {
    bool fits = options[i] == BINARY_IS_PRESERVED ? inMemory : options[i] == FUNCTION_TABLE && values;
    if (!fits) return false;
  }
  return true;
}

CUresult shim_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                void **jitOptionsValues, unsigned int numJitOptions,
                                CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                unsigned int numLibraryOptions) {
  if (!library_options(numLibraryOptions, libraryOptions, libraryOptionValues, true)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return load(library, code, numJitOptions, jitOptions, jitOptionsValues);
}

CUresult shim_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                    CUjit_option *jitOptions, void **jitOptionsValues,
                                    unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                    void **libraryOptionValues, unsigned int numLibraryOptions) {
  void *image;
  if (!library_options(numLibraryOptions, libraryOptions, libraryOptionValues, false)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = image_read(fileName, &image, NULL);
  if (result) return result;
  result = load(library, image, numJitOptions, jitOptions, jitOptionsValues);
  free(image);
  return result;
}

CUresult shim_cuLibraryUnload(CUlibrary library) {
  struct library *found = arena_find(&libraries, library);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  struct library own = *found;
  if (!arena_give(&libraries, found)) return CUDA_ERROR_INVALID_HANDLE;
  library_free(&own);
  return CUDA_SUCCESS;
}

CUresult library_any_module(struct library *library, struct module **module) {
  struct context *context = context_any();
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  return library_module(library, context, module);
}

CUresult library_kernel(struct library *library, struct function_info *info, struct kernel **kernel) {
  CUresult result = CUDA_SUCCESS;
  lock_take(&library->lock);
  if (info->index >= library->kernelCapacity) {
    uint32_t capacity = info->index + info->index / 2 + 16;
    struct kernel **list = realloc(library->kernels, capacity * sizeof *list);
    if (list) {
      memset(list + library->kernelCapacity, 0,
             (capacity - library->kernelCapacity) * sizeof *list);
      library->kernels = list;
      library->kernelCapacity = capacity;
    } else {
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  if (!result && !library->kernels[info->index]) {
    struct kernel *made = arena_take(&kernels);
    if (made) {
      made->library = library;
      made->info = info;
      arena_publish(&kernels, made);
      library->kernels[info->index] = made;
    } else {
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  if (!result) *kernel = library->kernels[info->index];
  lock_release(&library->lock);
  return result;
}

struct kernel *kernel_behind(const struct function *function) {
  struct library *library = function->module->library;
  struct kernel *kernel = NULL;
  if (!library) return NULL;
  lock_take(&library->lock);
  if (function->info->index < library->kernelCapacity) {
    kernel = library->kernels[function->info->index];
  }
  lock_release(&library->lock);
  return kernel;
}

CUresult shim_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels,
                                        CUlibrary lib) {
  struct library *library = arena_find(&libraries, lib);
  struct module *module;
  if (!library) return CUDA_ERROR_INVALID_HANDLE;
  if (!kernels || !numKernels) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = library_any_module(library, &module);
  if (!result) result = module_list(module);
  for (uint32_t i = 0; !result && i < numKernels && i < library->table.count; i++) {
    struct kernel *kernel;
    result = library_kernel(library, library->table.infos[i], &kernel);
    if (!result) kernels[i] = (CUkernel)(void *)kernel;
  }
  return result;
}

CUresult shim_cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                  const char *name) {
  struct library *found = arena_find(&libraries, library);
  struct module *module;
  CUdeviceptr address;
  size_t length;
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (!name || (!dptr && !bytes)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = library_any_module(found, &module);
  if (!result) result = module_global(module, name, &address, &length);
  if (!result) result = managed_variable(module->context, address, length);
  if (result) return result;
  if (dptr) *dptr = address;
  if (bytes) *bytes = length;
  return CUDA_SUCCESS;
}

CUresult kernel_on_device(CUkernel handle, CUdevice device, struct function **function) {
  struct kernel *kernel = arena_find(&kernels, handle);
  struct context *context;
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = context_or_none(&context);
  if (result) return result;
  if (!context || context->device != device) context = context_primary(device);
  return context ? kernel_function(kernel, context, function) : CUDA_ERROR_INVALID_CONTEXT;
}
