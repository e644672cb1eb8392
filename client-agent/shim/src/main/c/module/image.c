// SPDX-License-Identifier: Apache-2.0
#include "module/image.h"

#include "core/log.h"
#include "module/jit_options.h"
#include "shim.h"
#include "transport/device_table.h"
#include "transport/reader.h"
#include "transport/replies.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRAPPER_MAGIC = 0x466243b1 };

enum { LINKED_VERSION = 2, MAX_FATBINS = 4096 };
enum { COMPUTE_CAPABILITY_MAJOR = 75, COMPUTE_CAPABILITY_MINOR = 76 };  // CUdevice_attribute

/** The wrapper that nvcc emits around a fatbin in a program. */
struct wrapper {
  uint32_t magic;
  uint32_t version;
  const void *data;
  const void *const *more;  // of version 2: fatbins to link, ended by NULL
};

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/** The end of what the headers of an ELF file point at. */
static uint64_t elf_bytes(const uint8_t *image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) return 0;
  uint64_t end = sizeof header;
  if (header.e_shoff > MAX_IMAGE_BYTES || header.e_phoff > MAX_IMAGE_BYTES) return 0;
  if (header.e_shnum && header.e_shentsize == sizeof(Elf64_Shdr)) {
    end = larger(end, header.e_shoff + (uint64_t)header.e_shnum * sizeof(Elf64_Shdr));
    for (unsigned i = 0; i < header.e_shnum; i++) {
      Elf64_Shdr section;
      memcpy(&section, image + header.e_shoff + i * sizeof section, sizeof section);
      if (section.sh_type == SHT_NOBITS) continue;
      if (section.sh_offset > MAX_IMAGE_BYTES || section.sh_size > MAX_IMAGE_BYTES) return 0;
      end = larger(end, section.sh_offset + section.sh_size);
    }
  }
  if (header.e_phnum && header.e_phentsize == sizeof(Elf64_Phdr)) {
    end = larger(end, header.e_phoff + (uint64_t)header.e_phnum * sizeof(Elf64_Phdr));
    for (unsigned i = 0; i < header.e_phnum; i++) {
      Elf64_Phdr segment;
      memcpy(&segment, image + header.e_phoff + i * sizeof segment, sizeof segment);
      if (segment.p_offset > MAX_IMAGE_BYTES || segment.p_filesz > MAX_IMAGE_BYTES) return 0;
      end = larger(end, segment.p_offset + segment.p_filesz);
    }
  }
  return end;
}

/** The length of what is no fatbin. */
static uint64_t other_bytes(const uint8_t *at) {
  return memcmp(at, ELFMAG, SELFMAG) == 0 ? elf_bytes(at) : strlen((const char *)at) + 1;
}

/** Takes in the fatbins to link; false if one is none. */
static bool add_more(struct image *image, const void *const *more) {
  image->more = more;
  while (more && more[image->moreCount]) {
    uint64_t bytes = fatbin_bytes(more[image->moreCount]);
    if (!bytes || ++image->moreCount > MAX_FATBINS) return false;
    image->totalBytes += bytes;
  }
  return true;
}

CUresult image_find(const void *given, struct image *image) {
  if (!given) return CUDA_ERROR_INVALID_VALUE;
  uint32_t magic;
  const uint8_t *at = given;
  image->more = NULL;
  image->moreCount = image->choice.pieceCount = 0;
  image->totalBytes = 0;
  // A text may be shorter than four bytes.
  if (!at[0] || !at[1] || !at[2] || !at[3]) return CUDA_ERROR_INVALID_IMAGE;
  memcpy(&magic, at, sizeof magic);
  if (magic == WRAPPER_MAGIC) {
    struct wrapper wrapper;
    memcpy(&wrapper, at, sizeof wrapper);
    if (wrapper.version == LINKED_VERSION && !add_more(image, wrapper.more)) {
      return CUDA_ERROR_INVALID_IMAGE;
    }
    at = wrapper.data;
    if (!at) return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&magic, at, sizeof magic);
  }
  image->first = at;
  image->firstBytes = magic == (uint32_t)FATBIN_MAGIC ? fatbin_bytes(at) : other_bytes(at);
  image->totalBytes += image->firstBytes;
  return image->firstBytes == 0 || image->totalBytes > MAX_IMAGE_BYTES ? CUDA_ERROR_INVALID_IMAGE
                                                                       : CUDA_SUCCESS;
}

bool image_mapped(const struct piece *piece) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t begin = (uintptr_t)piece->at & ~(page - 1);
  uintptr_t end = (uintptr_t)piece->at + piece->bytes;
  return end >= begin && msync((void *)begin, end - begin, MS_ASYNC) == 0;
}

void image_choose(struct image *image, const struct jit *jit) {
  uint32_t capabilities[MAX_DEVICES], count = devices_count();
  if (image->moreCount || !fatbin_bytes(image->first) || jit_has(jit, JIT_TARGET)) return;
  if (!image_mapped(&(struct piece){image->first, image->firstBytes})) return;
  for (uint32_t i = 0; i < count; i++) {
    CUdevice device = (CUdevice)i;
    capabilities[i] = (uint32_t)(10 * device_attribute(device, COMPUTE_CAPABILITY_MAJOR) +
                                 device_attribute(device, COMPUTE_CAPABILITY_MINOR));
  }
  fatbin_choose(image->first, capabilities, count, &image->choice);
  if (image->choice.pieceCount) image->totalBytes = sizeof(struct fatbin) + image->choice.header.bodyBytes;
}

/** Describes an image: the language version of a PTX text, or the architectures of a fatbin. */
static void describe(const struct image *image, char *text, size_t textBytes) {
  if (fatbin_bytes(image->first)) {
    fatbin_describe(image->first, text, textBytes);
  } else if (memcmp(image->first, ELFMAG, SELFMAG) == 0) {
    snprintf(text, textBytes, "machine code");
  } else {
    const char *at = strstr(image->first, ".version");
    const char *number = at ? at + strlen(".version") + strspn(at + strlen(".version"), " \t") : "";
    snprintf(text, textBytes, "PTX of version %.*s", (int)strspn(number, "0123456789."), number);
  }
}

void image_explain(const struct image *image, CUdevice device, CUresult result) {
  static _Atomic int said;
  char text[256];
  int driver = devices_cuda_version();
  if (result != CUDA_ERROR_NO_BINARY_FOR_GPU && result != CUDA_ERROR_UNSUPPORTED_PTX_VERSION) return;
  if (reader_diagnosed()) return;  // the worker has said more than is known here
  if (atomic_exchange_explicit(&said, 1, memory_order_relaxed)) return;
  describe(image, text, sizeof text);
  log_line(LOG_WARN,
           "the program's code does not run on this GPU: it is %s; the GPU is of compute capability %d.%d and its"
           " server's driver of CUDA %d.%d",
           text, device_attribute(device, COMPUTE_CAPABILITY_MAJOR),
           device_attribute(device, COMPUTE_CAPABILITY_MINOR), driver / 1000, driver % 1000 / 10);
}

CUresult image_read(const char *path, void **image, size_t *fileBytes) {
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  int descriptor;
  do {
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) return CUDA_ERROR_FILE_NOT_FOUND;
  struct stat status;
  CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
  char *bytes = NULL;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    size_t size = (size_t)status.st_size, done = 0;
    bytes = calloc(1, size + 8);
    result = bytes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    while (bytes && done < size) {
      ssize_t got = read(descriptor, bytes + done, size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        result = CUDA_ERROR_INVALID_IMAGE;
        break;
      }
      done += (size_t)got;
    }
    if (fileBytes) *fileBytes = size;
  }
  close(descriptor);
  if (result) {
    free(bytes);
    bytes = NULL;
  }
  *image = bytes;
  return result;
}
