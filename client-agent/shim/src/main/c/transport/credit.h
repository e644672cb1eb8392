// SPDX-License-Identifier: Apache-2.0
// Calls that find no memory because the program has credit for allocations that it has not made.
#pragma once

#include "core/hooks.h"
#include "transport/connection.h"
#include "wire.h"

typedef void credit_hook(uint32_t connection);

/** Adds a function that gives all credit on a connection back, in the order of the stream. */
#define GIVES_CREDIT_BACK(function) HOOK(credit, credit_hook, function)

/** Gives credit back; true, with the call to be made again, unless the result is the call's own. */
bool credit_make_room(struct call *call, CUresult *result);

/** Returns whether a call has to be made once more. */
static inline bool call_again(struct call *call, CUresult *result) {
  return UNLIKELY((int)*result == RESULT_CREDIT_WANTED) && credit_make_room(call, result);
}
