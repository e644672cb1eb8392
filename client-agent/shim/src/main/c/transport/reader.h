// SPDX-License-Identifier: Apache-2.0
// The reader of a call stream: the thread that holds its role takes the frames that have come, and hands them to the
// calls that wait for them.
#pragma once

#include "core/hooks.h"
#include "transport/connection.h"

/** Takes a CALLBACK frame. False: there is no such callback. Never blocks. */
typedef bool callback_hook(uint32_t number, CUresult result);

#define ON_CALLBACK(function) HOOK(callback, callback_hook, function)

/** Reserves the receive buffer; false if there is no memory. */
bool reader_open(struct connection *connection);

/** Begins to read the stream if nobody does; each success needs a reader_end. */
bool reader_begin(struct connection *connection);

/** Reads the answers that have arrived, without waiting. */
void reader_take(struct connection *connection);

/** Passes the reading on. */
void reader_end(struct connection *connection);

/** Takes apart what was received. */
void reader_parse(struct connection *connection);

/** Returns whether a worker has sent diagnostics, which say more of a refusal than its result code. */
bool reader_diagnosed(void);
