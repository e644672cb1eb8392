// SPDX-License-Identifier: Apache-2.0
// Primary contexts: one of each device, shared by all that retain it.
#pragma once

#include "context/context.h"

/** The primary context of a device if somebody retains it, or NULL. */
struct context *context_primary(CUdevice device);
