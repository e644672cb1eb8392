// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include "context.h"
#include "ops.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  FATBIN_MAGIC = (int)0xba55ed50,
  WRAPPER_MAGIC = 0x466243b1,
};

enum { LINKED_VERSION = 2, MAX_FATBINS = 4096 };

#define MAX_IMAGE_BYTES ((uint64_t)4 << 30)

/** What nvcc emits around a fatbin in a program. */
struct wrapper {
  uint32_t magic;
  uint32_t version;
  const void *data;
  const void *const *more;  // of version 2: fatbins to link, ended by NULL
};

struct fatbin {
  uint32_t magic;
  uint16_t version;
  uint16_t headerBytes;
  uint64_t bodyBytes;
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

static uint64_t fatbin_bytes(const void *at) {
  struct fatbin fatbin;
  memcpy(&fatbin, at, sizeof fatbin);
  bool is = fatbin.magic == (uint32_t)FATBIN_MAGIC && fatbin.bodyBytes <= MAX_IMAGE_BYTES;
  return is ? fatbin.headerBytes + fatbin.bodyBytes : 0;
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
  *image = (struct image){0};
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

static CUresult send_part(uint32_t link, uint32_t number, const void *part, uint64_t bytes) {
  const uint8_t *at = part;
  CUresult result = CUDA_SUCCESS;
  for (uint64_t sent = 0; sent < bytes && !result;) {
    uint64_t piece = bytes - sent < MAX_DATA_BYTES ? bytes - sent : MAX_DATA_BYTES;
    result = op_imageData(link_no_context(link), number, at + sent, piece);
    sent += piece;
  }
  return result;
}

static CUresult send_to(uint32_t link, const struct image *image, uint32_t number) {
  CUresult result = op_imageBegin(link_no_context(link), number, image->totalBytes);
  if (!result) result = send_part(link, number, image->first, image->firstBytes);
  for (uint32_t i = 0; i < image->moreCount && !result; i++) {
    result = send_part(link, number, image->more[i], fatbin_bytes(image->more[i]));
  }
  return result;
}

/** Whether an image that goes where a context is goes to a link. */
static bool is_for(const struct context *context, uint32_t link) {
  return !context || link_same(context->number, link_no_context(link));
}

CUresult image_send(const struct image *image, const struct context *context, uint32_t *number) {
  static uint32_t lastNumber;
  CUresult result = CUDA_SUCCESS;
  *number = __atomic_add_fetch(&lastNumber, 1, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < linkCount && !result; i++) {
    if (is_for(context, i)) result = send_to(i, image, *number);
  }
  return result;
}

void image_drop(uint32_t number, const struct context *context) {
  for (uint32_t i = 0; i < linkCount; i++) {
    if (is_for(context, i)) op_imageDrop(link_no_context(i), number);
  }
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
