// SPDX-License-Identifier: Apache-2.0
// Cuts: a call stream that broke while its session lives on. Threads that read or write it leave their roles and wait;
// what resumes it is told by a hook.
#pragma once

#include "core/hooks.h"
#include "transport/connection.h"

#include <stdatomic.h>

/** Begins to resume a connection. */
typedef void cut_hook(struct connection *connection);

#define ON_CUT(function) HOOK(cut, cut_hook, function)

/** Returns whether a connection is cut: nothing can be read or written until it is resumed. */
static inline bool cut_now(const struct connection *connection) {
  return atomic_load_explicit(&connection->cut.state, memory_order_acquire) == CUT_NOW;
}

/** Takes note that a stream broke: the connection is cut, or the session lost if it cannot be resumed. */
void cut_report(struct connection *connection, const char *cause);

/** Waits until the connection is resumed or the session lost; the caller holds no role. */
void cut_wait(struct connection *connection);

/** The same for a thread that has nothing to send or to receive, for which a suspended session need not be resumed. */
void cut_wait_idle(struct connection *connection);

/** The connection is whole again. */
void cut_end(struct connection *connection);
