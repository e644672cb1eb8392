// SPDX-License-Identifier: Apache-2.0
#include "image.h"

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

#define MAX_IMAGE_BYTES ((uint64_t)4 << 30)

/** What nvcc emits around a fatbin in a program. */
struct wrapper {
  uint32_t magic;
  uint32_t version;
  const void *data;
  const void *more;
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

CUresult image_find(const void *given, const void **image, uint64_t *bytes) {
  if (!given) return CUDA_ERROR_INVALID_VALUE;
  uint32_t magic;
  const uint8_t *at = given;
  // A text may be shorter than four bytes.
  if (!at[0] || !at[1] || !at[2] || !at[3]) return CUDA_ERROR_INVALID_IMAGE;
  memcpy(&magic, at, sizeof magic);
  if (magic == WRAPPER_MAGIC) {
    struct wrapper wrapper;
    memcpy(&wrapper, at, sizeof wrapper);
    at = wrapper.data;
    if (!at) return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&magic, at, sizeof magic);
  }
  if (magic == (uint32_t)FATBIN_MAGIC) {
    struct fatbin fatbin;
    memcpy(&fatbin, at, sizeof fatbin);
    *bytes = fatbin.headerBytes + fatbin.bodyBytes;
  } else if (memcmp(at, ELFMAG, SELFMAG) == 0) {
    *bytes = elf_bytes(at);
  } else {
    *bytes = strlen((const char *)at) + 1;
  }
  if (*bytes == 0 || *bytes > MAX_IMAGE_BYTES) return CUDA_ERROR_INVALID_IMAGE;
  *image = at;
  return CUDA_SUCCESS;
}

CUresult image_send(const void *image, uint64_t bytes, uint32_t *number) {
  static uint32_t lastNumber;
  const uint8_t *at = image;
  *number = __atomic_add_fetch(&lastNumber, 1, __ATOMIC_RELAXED);
  CUresult result = op_imageBegin(0, *number, bytes);
  for (uint64_t sent = 0; sent < bytes && !result;) {
    uint64_t part = bytes - sent < MAX_DATA_BYTES ? bytes - sent : MAX_DATA_BYTES;
    result = op_imageData(0, *number, at + sent, part);
    sent += part;
  }
  return result;
}

void image_drop(uint32_t number) { op_imageDrop(0, number); }

CUresult image_read(const char *path, void **image) {
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
  }
  close(descriptor);
  if (result) {
    free(bytes);
    bytes = NULL;
  }
  *image = bytes;
  return result;
}
