// SPDX-License-Identifier: Apache-2.0
// Access of contexts to the memory of others.
#pragma once

#include "context/context.h"

/** Finds the current context and one of another device, whose memory it can have access to. */
CUresult peer_find(CUcontext handle, struct context **context, struct context **peer);
