// SPDX-License-Identifier: Apache-2.0
#include "memory/share_token.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Constants that C libraries before 2.27 do not have.
#ifndef SYS_memfd_create
#ifdef __aarch64__
#define SYS_memfd_create 279
#else
#define SYS_memfd_create 319
#endif
#endif
enum { MFD_CLOEXEC_ = 1, MFD_ALLOW_SEALING_ = 2, F_ADD_SEALS_ = 1033, ALL_SEALS = 15 };

/** The contents of a handle behind the token. */
static const char magic[16] = "gpupool shared";

struct handle {
  struct token token;
  char magic[16];
  uint8_t rest[16];
};
_Static_assert(sizeof(struct handle) == SHARED_HANDLE_BYTES, "handle");

void token_put(const struct token *token, void *handle) {
  struct handle made = {.token = *token};
  memcpy(made.magic, magic, sizeof magic);
  memcpy(handle, &made, sizeof made);
}

CUresult token_get(const void *handle, struct token *token) {
  struct handle given;
  memcpy(&given, handle, sizeof given);
  if (memcmp(given.magic, magic, sizeof magic) != 0) return CUDA_ERROR_INVALID_VALUE;
  *token = given.token;
  return CUDA_SUCCESS;
}

CUresult token_put_descriptor(const struct token *token, int *descriptor) {
  uint8_t handle[SHARED_HANDLE_BYTES];
  token_put(token, handle);
  // Like the driver's, it is not inherited by an executed program unless told to.
  int made = (int)syscall(SYS_memfd_create, "gpupool-shared", MFD_CLOEXEC_ | MFD_ALLOW_SEALING_);
  if (made < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  if (pwrite(made, handle, sizeof handle, 0) != sizeof handle) {
    close(made);
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  fcntl(made, F_ADD_SEALS_, ALL_SEALS);
  *descriptor = made;
  return CUDA_SUCCESS;
}

CUresult token_get_descriptor(int descriptor, struct token *token) {
  uint8_t handle[SHARED_HANDLE_BYTES];
  if (pread(descriptor, handle, sizeof handle, 0) != sizeof handle) return CUDA_ERROR_INVALID_VALUE;
  return token_get(handle, token);
}
