// SPDX-License-Identifier: Apache-2.0
// Settings of GPU core dumps, of which none are written: a server's files are not the program's.
#include "context/context.h"
#include "shim.h"

#include <stdio.h>
#include <string.h>

// CUcoredumpSettings
enum {
  ON_EXCEPTION = 1,
  TRIGGER_HOST = 2,
  LIGHTWEIGHT = 3,
  USER_TRIGGER = 4,
  DUMP_FILE = 5,
  DUMP_PIPE = 6,
  GENERATION_FLAGS = 7,
};

enum { NAME_BYTES = 1024 };

/** The settings, for all contexts; those that switch dumps on cannot be set. */
static struct {
  struct lock lock;
  bool hostToo, lightweight;
  char file[NAME_BYTES], pipe[NAME_BYTES];  // empty: not set
  int flags;
} settings = {.hostToo = true};

static void name_default(char *name, const char *prefix) {
  char host[HOST_NAME_MAX + 1] = "";
  if (name[0]) return;
  gethostname(host, sizeof host - 1);
  snprintf(name, NAME_BYTES, "%s.cuda.%s.%d", prefix, host, (int)getpid());
}

/** The value of a setting; 0 bytes: there is no such setting. */
static void *setting(int attribute, size_t *bytes) {
  static bool never;
  switch (attribute) {
    case ON_EXCEPTION:
    case USER_TRIGGER:
      never = false;
      *bytes = sizeof never;
      return &never;
    case TRIGGER_HOST:
      *bytes = sizeof settings.hostToo;
      return &settings.hostToo;
    case LIGHTWEIGHT:
      *bytes = sizeof settings.lightweight;
      return &settings.lightweight;
    case DUMP_FILE:
      name_default(settings.file, "core");
      *bytes = sizeof settings.file;
      return settings.file;
    case DUMP_PIPE:
      name_default(settings.pipe, "corepipe");
      *bytes = sizeof settings.pipe;
      return settings.pipe;
    case GENERATION_FLAGS:
      *bytes = sizeof settings.flags;
      return &settings.flags;
    default:
      *bytes = 0;
      return NULL;
  }
}

CUresult shim_cuCoredumpGetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size) {
  size_t bytes;
  CUresult result = CUDA_SUCCESS;
  lock_take(&settings.lock);
  const void *now = setting(attrib, &bytes);
  if (!now || !size) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else if (!value) {
    *size = bytes;
  } else if (attrib == DUMP_FILE || attrib == DUMP_PIPE) {
    // A name that does not fit is cut off.
    size_t length = strlen(now);
    if (!*size) {
      result = CUDA_ERROR_INVALID_VALUE;
    } else {
      if (length >= *size) length = *size - 1;
      memcpy(value, now, length);
      ((char *)value)[length] = '\0';
    }
  } else if (*size < bytes) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else {
    memcpy(value, now, bytes);
    *size = bytes;
  }
  lock_release(&settings.lock);
  return result;
}

CUresult shim_cuCoredumpSetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size) {
  size_t bytes;
  CUresult result = CUDA_SUCCESS;
  if (!value || !size) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&settings.lock);
  void *now = setting(attrib, &bytes);
  bool name = attrib == DUMP_FILE || attrib == DUMP_PIPE;
  if (!now || (name ? *size > bytes || !memchr(value, 0, *size) : *size < bytes)) {
    result = CUDA_ERROR_INVALID_VALUE;
  } else if ((attrib == ON_EXCEPTION || attrib == USER_TRIGGER) && *(const uint8_t *)value) {
    result = CUDA_ERROR_NOT_SUPPORTED;
  } else {
    memcpy(now, value, name ? *size : bytes);
  }
  lock_release(&settings.lock);
  return result;
}
