// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects. Their values are the backend's, since kernels are given them; what they
// were made of is kept here.
#pragma once

#include "context.h"

/** The objects of a context are gone. */
void textures_forget(struct context *context);

void textures_reset(void);
