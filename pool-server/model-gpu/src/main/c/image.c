// SPDX-License-Identifier: Apache-2.0
// Kernels and variables of images: ELF files, and fat binaries of them and of PTX.
#include "module.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
  FATBIN = 0xba55ed50,
  WRAPPER = 0x466243b1,
  KIND_PTX = 1,
  KIND_ELF = 2,
  LZ4 = 0x2000,
  ZSTD = 0x8000,
  KERNEL_ENTRY = 0x10,
  ATTRIBUTE_MAX_THREADS = 0x05,
  ATTRIBUTE_PARAMETER = 0x17,
  SIZED = 4,
};

struct fatbin {
  uint32_t magic;
  uint16_t version, headerBytes;
  uint64_t bodyBytes;
};

struct entry {
  uint16_t kind, version;
  uint32_t headerBytes;
  uint64_t bytes;
  uint32_t packedBytes, nameOffset;
  uint32_t reserved, architecture;
  uint32_t more[2];
  uint64_t flags;
  uint64_t rest, plainBytes;
};

struct wrapper {
  uint32_t magic, version;
  const struct fatbin *first;
  const struct fatbin **others;
};

// ELF

/** {u8 format, u8 attribute, u16 value or length}, then the bytes if it is sized. */
static void read_parameters(struct function *function, const uint8_t *at, const uint8_t *end) {
  while (at + 4 <= end) {
    uint16_t length;
    memcpy(&length, at + 2, 2);
    const uint8_t *value = at + 4;
    uint32_t words[3];
    if (at[0] == SIZED && at[1] == ATTRIBUTE_PARAMETER && length >= sizeof words && value + sizeof words <= end) {
      memcpy(words, value, sizeof words);
      uint32_t ordinal = words[1] & 0xffff;
      if (ordinal < MAX_PARAMETERS) {
        function->parameters[ordinal].offset = words[1] >> 16;
        function->parameters[ordinal].bytes = words[2] >> 18;
        if (function->parameterCount <= ordinal) function->parameterCount = ordinal + 1;
      }
    } else if (at[0] == SIZED && at[1] == ATTRIBUTE_MAX_THREADS && length >= sizeof words &&
               value + sizeof words <= end) {
      memcpy(words, value, sizeof words);
      function->maxThreads = words[0] * words[1] * words[2];
    }
    at = value + (at[0] == SIZED ? length : 0);
  }
}

static bool read_elf(struct module *module, const uint8_t *image) {
  const Elf64_Ehdr *header = (const void *)image;
  const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
  const char *sectionNames = (const char *)image + sections[header->e_shstrndx].sh_offset;
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const Elf64_Sym *symbols = (const void *)(image + sections[i].sh_offset);
    const char *names = (const char *)image + sections[sections[i].sh_link].sh_offset;
    for (uint64_t s = 0; s < sections[i].sh_size / sizeof *symbols; s++) {
      const char *name = names + symbols[s].st_name;
      int type = ELF64_ST_TYPE(symbols[s].st_info);
      if (type == STT_FUNC && symbols[s].st_other & KERNEL_ENTRY) {
        struct function *function = module_add_function(module, name, strlen(name));
        for (int n = 0; n < header->e_shnum; n++) {
          const char *section = sectionNames + sections[n].sh_name;
          bool isShared = !strncmp(section, ".nv.shared.", 11) && !strcmp(section + 11, name);
          if (isShared) function->sharedBytes = sections[n].sh_size;
          if (strncmp(section, ".nv.info.", 9) || strcmp(section + 9, name)) continue;
          const uint8_t *info = image + sections[n].sh_offset;
          read_parameters(function, info, info + sections[n].sh_size);
        }
      } else if (type == STT_OBJECT && symbols[s].st_size && symbols[s].st_shndx < header->e_shnum) {
        const char *section = sectionNames + sections[symbols[s].st_shndx].sh_name;
        if (!strncmp(section, ".nv.global", 10) || !strcmp(section, ".nv.constant3")) {
          struct variable *variable = module_add_variable(module, name, strlen(name), symbols[s].st_size);
          const Elf64_Shdr *home = &sections[symbols[s].st_shndx];
          if (home->sh_type == SHT_NOBITS) continue;
          variable->initial = malloc(variable->bytes);
          memcpy(variable->initial, image + home->sh_offset + symbols[s].st_value, variable->bytes);
        }
      }
    }
  }
  return true;
}

// Fat binaries

static bool read_one(struct module *module, const void *image);

/** A function of the system's compression libraries, which are not needed for anything else. */
static void *find(const char *library, const char *name) {
  void *opened = dlopen(library, RTLD_LAZY);
  return opened ? dlsym(opened, name) : NULL;
}

/** The content of an entry, NUL behind it; its user frees it. NULL if it cannot be decompressed here. */
static void *unpack(const struct entry *entry) {
  const void *body = (const uint8_t *)entry + entry->headerBytes;
  bool packed = entry->flags & (LZ4 | ZSTD);
  uint64_t bytes = packed ? entry->plainBytes : entry->bytes;
  char *plain = calloc(1, bytes + 1);
  if (!plain || !packed) return plain ? memcpy(plain, body, bytes) : NULL;
  uint64_t written = 0;
  if (entry->flags & ZSTD) {
    size_t (*decompress)(void *, size_t, const void *, size_t) = find("libzstd.so.1", "ZSTD_decompress");
    if (decompress) written = decompress(plain, bytes, body, entry->packedBytes);
  } else {
    int (*decompress)(const void *, void *, int, int) = find("liblz4.so.1", "LZ4_decompress_safe");
    if (decompress) written = (uint64_t)decompress(body, plain, (int)entry->packedBytes, (int)bytes);
  }
  if (written == bytes) return plain;
  free(plain);
  return NULL;
}

/** Machine code if there is any, else PTX. Of what cannot be decompressed all names are believed. */
static bool read_fatbin(struct module *module, const struct fatbin *fatbin) {
  const uint8_t *at = (const uint8_t *)fatbin + fatbin->headerBytes, *end = at + fatbin->bodyBytes;
  const struct entry *best = NULL;
  while (at + sizeof(struct entry) <= end) {
    const struct entry *entry = (const void *)at;
    if (entry->kind == KIND_ELF || (entry->kind == KIND_PTX && !best)) best = entry;
    at += entry->headerBytes + entry->bytes;
  }
  if (!best) return false;
  void *image = unpack(best);
  bool good = !image || read_one(module, image);
  module->isOpaque |= !image;
  free(image);
  return good;
}

static bool read_one(struct module *module, const void *image) {
  uint32_t magic;
  memcpy(&magic, image, 4);
  switch (magic) {
    case FATBIN:
      return read_fatbin(module, image);
    case WRAPPER: {
      const struct wrapper *wrapper = image;
      bool good = read_fatbin(module, wrapper->first);
      for (int i = 0; good && wrapper->version == 2 && wrapper->others && wrapper->others[i]; i++) {
        good = read_fatbin(module, wrapper->others[i]);
      }
      return good;
    }
    case 0x464c457f:
      return read_elf(module, image);
    default:
      return ptx_read(module, image);
  }
}

bool image_read(struct module *module, const void *image) { return read_one(module, image); }
