// SPDX-License-Identifier: Apache-2.0
// Waiting for the worker to acknowledge requests. Meanwhile answers are read, so that the worker can go on.
#pragma once

#include "transport/connection.h"

/**
 * Waits until more is acknowledged than up to `begin`, or returns early. The caller holds neither the ring nor a role,
 * and all that it waits for has been written.
 */
void room_wait(struct connection *connection, uint64_t begin);
