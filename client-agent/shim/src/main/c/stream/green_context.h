// SPDX-License-Identifier: Apache-2.0
// Green contexts: parts of primary contexts that have some of a GPU's multiprocessors.
#pragma once

#include "context/context.h"

/** The green context of a handle, or NULL. */
struct context *green_find(CUgreenCtx handle);

/** The resource of a type that a context has. */
CUresult green_resource(struct context *context, CUdevResource *resource, CUdevResourceType type);
