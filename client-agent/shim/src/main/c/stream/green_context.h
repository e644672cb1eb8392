// SPDX-License-Identifier: Apache-2.0
// Green contexts: lanes of primary contexts, made of a part of a GPU's multiprocessors.
#pragma once

#include "context/context.h"

/** The lane of a green context's handle, or NULL. */
struct context *green_find(CUgreenCtx handle);

void greens_reset(void);
