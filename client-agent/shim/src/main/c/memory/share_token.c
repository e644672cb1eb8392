// SPDX-License-Identifier: Apache-2.0
#include "memory/share_token.h"

#include "core/memory_file.h"

#include <string.h>
#include <unistd.h>

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
  int made = memory_file_make("gpupool-shared");
  if (made < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  if (pwrite(made, handle, sizeof handle, 0) != sizeof handle) {
    close(made);
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  memory_file_seal(made, MEMORY_FILE_ALL);
  *descriptor = made;
  return CUDA_SUCCESS;
}

CUresult token_get_descriptor(int descriptor, struct token *token) {
  uint8_t handle[SHARED_HANDLE_BYTES];
  if (pread(descriptor, handle, sizeof handle, 0) != sizeof handle) return CUDA_ERROR_INVALID_VALUE;
  return token_get(handle, token);
}
