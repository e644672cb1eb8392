// SPDX-License-Identifier: Apache-2.0
// Modules: variables have memory at once, functions when they are first used.
#include "module.h"

#include <stdlib.h>
#include <string.h>

struct function *module_add_function(struct module *module, const char *name, size_t length) {
  struct function *function = calloc(1, sizeof *function);
  *function = (struct function){.next = module->functions, .module = module, .name = strndup(name, length)};
  module->functions = function;
  return function;
}

struct variable *module_add_variable(struct module *module, const char *name, size_t length, uint64_t bytes) {
  struct variable *variable = calloc(1, sizeof *variable);
  *variable = (struct variable){.next = module->variables, .name = strndup(name, length), .bytes = bytes};
  module->variables = variable;
  return variable;
}

static CUresult place(struct variable *variable, uint32_t device) {
  CUresult result = memory_place(device, variable->bytes, &variable->address);
  if (result) return result;
  void *memory = (void *)(uintptr_t)variable->address;
  if (variable->initial) memcpy(memory, variable->initial, variable->bytes); else memset(memory, 0, variable->bytes);
  return CUDA_SUCCESS;
}

static void end_module(struct module *module) {
  for (struct function *function = module->functions, *next; function; function = next) {
    next = function->next;
    free(function->name);
    free(function);
  }
  for (struct variable *variable = module->variables, *next; variable; variable = next) {
    next = variable->next;
    if (variable->address) memory_free(variable->address);
    free(variable->name);
    free(variable->initial);
    free(variable);
  }
  if (module->code) memory_free(module->code);
  free(module);
}

API CUresult cuModuleLoadDataEx(struct module **out, const void *image, unsigned count, int *keys, void **values) {
  (void)count; (void)keys; (void)values;
  struct context *context;
  CUresult result = api_begin(&context);
  if (result) return api_end(result);
  struct module *module = calloc(1, sizeof *module);
  module->context = context;
  if (!image || !image_read(module, image)) result = CUDA_ERROR_INVALID_IMAGE;
  for (struct variable *variable = module->variables; variable && !result; variable = variable->next) {
    result = place(variable, context->device);
  }
  if (result) end_module(module); else *out = module;
  return api_end(result);
}

API CUresult cuModuleUnload(struct module *module) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (!result) {
    struct work *tail = context_tail(context);
    work_await(tail);
    work_drop(tail);
    end_module(module);
  }
  return api_end(result);
}

/** A thread's local memory: the number behind `local_` in the kernel's name. */
static uint64_t local_bytes(const struct function *function) {
  const char *said = strstr(function->name, "local_");
  return said ? strtoull(said + 6, NULL, 10) : 0;
}

/** Code grows by blocks: a lazily loaded function takes of the card when it is first used. */
CUresult function_load(struct function *function) {
  struct module *module = function->module;
  if (function->isLoaded) return CUDA_SUCCESS;
  uint64_t bytes = module->codeBytes + options.codeBytes;
  CUdeviceptr code = module->code;
  CUresult fits = context_need_local(module->context, local_bytes(function));
  if (fits) return fits;
  if (options.codeBytes) {
    if (module->code) memory_free(module->code);
    module->code = 0;
    CUresult result = memory_allocate(module->context->device, bytes, &code);
    if (result) return result;
  }
  module->code = code;
  module->codeBytes = bytes;
  function->isLoaded = true;
  return CUDA_SUCCESS;
}

API CUresult cuModuleGetFunction(struct function **out, struct module *module, const char *name) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (result) return api_end(result);
  struct function *function = module->functions;
  while (function && strcmp(function->name, name)) function = function->next;
  if (!function && module->isOpaque) function = module_add_function(module, name, strlen(name));
  *out = function;
  return api_end(function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

API CUresult cuModuleGetFunctionCount(unsigned *count, struct module *module) {
  *count = 0;
  for (struct function *function = module->functions; function; function = function->next) (*count)++;
  return CUDA_SUCCESS;
}

API CUresult cuModuleEnumerateFunctions(struct function **functions, unsigned count, struct module *module) {
  struct function *function = module->functions;
  for (unsigned i = 0; i < count && function; i++, function = function->next) functions[i] = function;
  return CUDA_SUCCESS;
}

API CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, struct module *module, const char *name) {
  struct context *context;
  CUresult result = api_begin(&context);
  if (result) return api_end(result);
  struct variable *variable = module->variables;
  while (variable && strcmp(variable->name, name)) variable = variable->next;
  if (variable && address) *address = variable->address;
  if (variable && bytes) *bytes = variable->bytes;
  return api_end(variable ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

API CUresult cuFuncGetName(const char **name, struct function *function) {
  *name = function->name;
  return CUDA_SUCCESS;
}

API CUresult cuFuncGetParamInfo(struct function *function, size_t index, size_t *offset, size_t *bytes) {
  if (index >= function->parameterCount) return CUDA_ERROR_INVALID_VALUE;
  *offset = function->parameters[index].offset;
  if (bytes) *bytes = function->parameters[index].bytes;
  return CUDA_SUCCESS;
}

enum { MAX_THREADS = 1024, SHARED_OF_A_BLOCK = 1 << 10, SHARED_OF_ALL = 228 << 10 };
enum { MAX_THREADS_ATTRIBUTE = 0, SHARED_ATTRIBUTE = 1, LOCAL_BYTES = 3, REGISTERS = 4, PTX_VERSION = 5, BINARY_VERSION = 6 };

static int max_threads(const struct function *function) {
  return function->maxThreads ? (int)function->maxThreads : MAX_THREADS;
}

API CUresult cuFuncGetAttribute(int *value, int attribute, struct function *function) {
  if (attribute < 0 || attribute >= FUNCTION_ATTRIBUTES) return CUDA_ERROR_INVALID_VALUE;
  *value = function->isTold >> attribute & 1                              ? function->told[attribute]
           : attribute == MAX_THREADS_ATTRIBUTE                           ? max_threads(function)
           : attribute == SHARED_ATTRIBUTE                                ? (int)function->sharedBytes
           : attribute == LOCAL_BYTES                                     ? (int)local_bytes(function)
           : attribute == REGISTERS                                       ? 32
           : attribute == PTX_VERSION || attribute == BINARY_VERSION      ? 90
                                                                          : 0;
  return CUDA_SUCCESS;
}

API CUresult cuFuncSetAttribute(struct function *function, int attribute, int value) {
  if (attribute < 0 || attribute >= FUNCTION_ATTRIBUTES || value < -1) return CUDA_ERROR_INVALID_VALUE;
  function->told[attribute] = value;
  function->isTold |= 1u << attribute;
  return CUDA_SUCCESS;
}

API CUresult cuFuncSetCacheConfig(struct function *function, int config) {
  (void)function;
  return config < 0 || config > 3 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

API CUresult cuFuncSetSharedMemConfig(struct function *function, int config) {
  return cuFuncSetCacheConfig(function, config);
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct function *function, int blockSize,
                                                         size_t shared) {
  if (blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
  size_t ofBlock = SHARED_OF_A_BLOCK + function->sharedBytes + shared;
  int byThreads = 2048 / blockSize < 32 ? 2048 / blockSize : 32;
  int byShared = ofBlock > SHARED_OF_ALL ? 0 : (int)(SHARED_OF_ALL / ofBlock);
  *blocks = blockSize > max_threads(function) ? 0 : byThreads < byShared ? byThreads : byShared;
  return CUDA_SUCCESS;
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, struct function *function,
                                                                  int blockSize, size_t shared, unsigned flags) {
  return flags > 1 ? CUDA_ERROR_INVALID_VALUE
                   : cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, blockSize, shared);
}
