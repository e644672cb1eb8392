// SPDX-License-Identifier: Apache-2.0
// Tokens, by which the worker knows what processes of a lease share, in the forms that CUDA has for
// other processes: 64 bytes, or a descriptor.
#pragma once

#include "core/driver.h"

struct token {
  uint64_t words[4];
};

enum { SHARED_HANDLE_BYTES = 64, HANDLE_DESCRIPTOR = 1 };

/** Writes a handle of 64 bytes. */
void token_put(const struct token *token, void *handle);

/** Reads one; CUDA_ERROR_INVALID_VALUE if it is none. */
CUresult token_get(const void *handle, struct token *token);

/** A descriptor from which the token can be read in whatever process has it. */
CUresult token_put_descriptor(const struct token *token, int *descriptor);

/** Reads the token behind a descriptor, which stays open. */
CUresult token_get_descriptor(int descriptor, struct token *token);

/** The four words of a token as arguments of ops. */
#define TOKEN_IN(token) (token).words[0], (token).words[1], (token).words[2], (token).words[3]
#define TOKEN_OUT(token) &(token).words[0], &(token).words[1], &(token).words[2], &(token).words[3]
