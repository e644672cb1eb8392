// SPDX-License-Identifier: Apache-2.0
// Modules and functions.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct global {
  char name[64];
  Address address;
  size_t size;
};

struct module {
  int function_count, global_count;
  struct function *functions;
  struct global globals[16];
};

/* The functions of all modules ever loaded that have their code on the device. */
static uint64_t loaded_functions;

uint64_t testcudaLoadedFunctions(void) { return __atomic_load_n(&loaded_functions, __ATOMIC_RELAXED); }

void load_function(struct function *f) {
  if (!__atomic_exchange_n(&f->loaded, 1, __ATOMIC_RELAXED)) __atomic_add_fetch(&loaded_functions, 1, __ATOMIC_RELAXED);
}

static void say(unsigned count, int *keys, void **values, int key, const char *text) {
  for (unsigned i = 0; i + 1 < count; i++)
    if (keys[i] == key && (uintptr_t)values[i + 1] > 0)
      snprintf(values[i], (uintptr_t)values[i + 1], "%s", text);
}

/* A fat binary to link: one entry, which holds an image of this driver. */
struct fat_binary {
  uint32_t magic, header;
  uint64_t body;
  uint32_t kind, entry_header;
  uint64_t bytes, rest[6];
  char image[];
};

struct wrapper {
  uint32_t magic, version;
  struct fat_binary *first, **others;
};

static const char *link_binaries(const struct wrapper *wrapper, char *text) {
  memcpy(text, wrapper->first->image, wrapper->first->bytes);
  text[wrapper->first->bytes] = 0;
  for (int i = 0; wrapper->others[i]; i++) strncat(text, wrapper->others[i]->image + 9, wrapper->others[i]->bytes - 9);
  return text;
}

/* Makes room for as many functions as the image has such words. */
static struct module *new_module(const char *image, const char *word) {
  struct module *module = calloc(1, sizeof *module);
  size_t count = 1;
  for (const char *at = image; (at = strstr(at, word)); at++) count++;
  module->functions = calloc(count, sizeof *module->functions);
  return module;
}

/* Reads the names of the kernels in PTX; they have no parameters. */
static struct module *load_ptx(const char *image) {
  static const char entry[] = ".entry ";
  struct module *module = new_module(image, entry);
  for (const char *at = image; (at = strstr(at, entry));) {
    struct function *f = &module->functions[module->function_count++];
    at += sizeof entry - 1;
    f->module = module;
    snprintf(f->name, sizeof f->name, "%.*s", (int)strcspn(at, "( \n"), at);
  }
  return module;
}

Result cuModuleLoadDataEx(struct module **out, const char *image, unsigned count, int *keys, void **values) {
  count_call();
  Result result = usable();
  char linked[4096];
  if (result) return result;
  if (*(const uint32_t *)image == 0x466243B1) image = link_binaries((const struct wrapper *)image, linked);
  if (!strncmp(image, ".version", 8)) {
    *out = load_ptx(image);
    return SUCCESS;
  }
  if (strncmp(image, "testcuda\n", 9)) {
    say(count, keys, values, 5, "not an image of the test driver");
    return INVALID_IMAGE;
  }
  struct module *module = new_module(image, "kernel ");
  char *text = strdup(image + 9), *rest = text, *line;
  while ((line = strsep(&rest, "\n"))) {
    char *words = line, *kind = strsep(&words, " "), *name = strsep(&words, " "), *word;
    if (!name) continue;
    if (!strcmp(kind, "kernel")) {
      struct function *f = &module->functions[module->function_count++];
      f->module = module;
      snprintf(f->name, sizeof f->name, "%s", name);
      while ((word = strsep(&words, " "))) f->sizes[f->parameter_count++] = strtoul(word, NULL, 10);
    } else {
      struct global *g = &module->globals[module->global_count++];
      snprintf(g->name, sizeof g->name, "%s", name);
      g->size = strtoul(words, NULL, 10);
      result = cuMemAlloc_v2(&g->address, g->size);
    }
  }
  free(text);
  say(count, keys, values, 3, "loaded");
  *out = module;
  return result;
}

Result cuModuleUnload(struct module *module) {
  for (int i = 0; i < module->global_count; i++) cuMemFree_v2(module->globals[i].address);
  free(module->functions);
  free(module);
  return SUCCESS;
}

Result cuModuleGetFunctionCount(unsigned *count, struct module *module) {
  *count = (unsigned)module->function_count;
  return SUCCESS;
}

Result cuModuleEnumerateFunctions(struct function **functions, unsigned count, struct module *module) {
  for (unsigned i = 0; i < count; i++) functions[i] = &module->functions[i];
  return SUCCESS;
}

Result cuModuleGetFunction(struct function **out, struct module *module, const char *name) {
  for (int i = 0; i < module->function_count; i++)
    if (!strcmp(module->functions[i].name, name)) {
      *out = &module->functions[i];
      return usable();
    }
  return NOT_FOUND;
}

Result cuModuleGetGlobal_v2(Address *address, size_t *size, struct module *module, const char *name) {
  for (int i = 0; i < module->global_count; i++)
    if (!strcmp(module->globals[i].name, name)) {
      if (address) *address = module->globals[i].address;
      if (size) *size = module->globals[i].size;
      return usable();
    }
  return NOT_FOUND;
}

Result cuFuncGetName(const char **name, struct function *f) { *name = f->name; return SUCCESS; }

Result cuFuncGetParamInfo(struct function *f, size_t index, size_t *offset, size_t *size) {
  load_function(f);
  if (index >= (size_t)f->parameter_count) return INVALID_VALUE;
  *offset = 0;
  for (size_t i = 0; i <= index; i++) {
    size_t align = f->sizes[i] > 8 ? 8 : f->sizes[i];
    *offset = (*offset + align - 1) / align * align + (i < index ? f->sizes[i] : 0);
  }
  *size = f->sizes[index];
  return SUCCESS;
}

Result cuFuncGetAttribute(int *value, int attribute, struct function *f) {
  load_function(f);
  *value = 1000 + attribute;
  return usable();
}

Result cuFuncSetAttribute(struct function *f, int attribute, int value) {
  (void)f; (void)attribute;
  return value < 0 ? INVALID_VALUE : SUCCESS;
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, struct function *f, int block_size,
                                                            size_t shared, unsigned flags) {
  (void)f; (void)shared; (void)flags;
  *blocks = block_size > 0 ? 2048 / block_size : 0;
  return usable();
}
