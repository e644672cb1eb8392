// SPDX-License-Identifier: Apache-2.0
// Copies to the host that other connections than the one that was waited for have under way.
#pragma once

#include "context/context.h"
#include "transport/connection.h"

/** Returns whether there are several connections, so that work may have to go elsewhere. */
static inline bool connections_several(void) { return UNLIKELY(connectionCount > 1); }

/**
 * After a wait on a connection, which may have waited for another one: what is complete there of copies to the host
 * has arrived, too.
 */
CUresult settle_others(const struct context *context);
