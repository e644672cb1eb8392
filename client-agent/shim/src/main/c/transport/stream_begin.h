// SPDX-License-Identifier: Apache-2.0
// The begin of a connection on its terms.
#pragma once

#include "transport/connection.h"

/**
 * Begins a connection on a stream, in place of a former one. The caller has both roles, or nobody uses the connection
 * yet. False: there is no memory, or the terms are none, or the worker does not keep them.
 */
bool stream_begin(struct connection *connection, int stream, const struct stream_terms *terms);
