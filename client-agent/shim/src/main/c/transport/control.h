// SPDX-License-Identifier: Apache-2.0
// Control frames of a stream that can be resumed, which count for no position: acknowledgements, in both directions.
// The thread that reads takes the worker's, and has its own sent.
#pragma once

#include "core/hooks.h"
#include "transport/connection.h"

/** Has an acknowledgement that is due sent, soon and on another thread. */
typedef void acknowledge_hook(struct connection *connection);

#define ON_ACKNOWLEDGE(function) HOOK(acknowledge, acknowledge_hook, function)

/** The position up to which answers were taken. */
uint64_t control_position(const struct connection *connection);

/** Drops what was received and not taken apart: it comes again from the position. */
void control_rewind(struct connection *connection);

/** Has an acknowledgement due if much has come since the last one, or the worker wants one. */
void control_acknowledge(struct connection *connection, bool wanted);

/**
 * Asks the worker to acknowledge requests, unless so many are under way that it does so by itself, or it was asked. Returns
 * whether that is to be sent.
 */
bool control_ask(struct connection *connection);

/** Takes the worker's acknowledgement, of which all is there. False: it is not what a worker sends. */
bool control_take(struct connection *connection, uint64_t position);

/** Has others send an acknowledgement that is due. */
void control_pass_on(struct connection *connection);
