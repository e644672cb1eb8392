// SPDX-License-Identifier: Apache-2.0
// Calls that wait for their answers. One of the threads that wait reads the call stream, hands out to the others what
// is theirs, and passes the reading on when its own answer has come.
#pragma once

#include "transport/calls.h"

/** Sends the frame begun and waits for its answer. */
CUresult call_wait(struct call *call);

/** Waits until the call's answer has come, or for a watcher until it was told. */
void call_await(struct call *call);

/** Forgets a call that was not sent; returns the error of a call without a session. */
CUresult call_cancel(struct call *call);

/** Waits for WELCOME; the payload is the caller's to free. NULL: the session is lost. */
uint8_t *replies_welcome(struct connection *connection, uint32_t *bytes);
