// SPDX-License-Identifier: Apache-2.0
// Groups of a thread's calls, nested: what they gather is done at the end of the outermost one. Every call is in a group,
// one of its own at least.
#pragma once

#include "collective/communicator.h"

void group_begin(void);

/** Ends a group; the outermost one does what was gathered, and returns the first error of all its calls. */
int group_end(void);

/** Ends the group of a single call, which has returned this so far. */
int group_leave(int result);

/** Adds a communicator that has been started, and that the end of the group waits for. made: the program's. */
int group_add_made(struct communicator *communicator, struct communicator **made);

int group_add_call(struct communicator *communicator, CUstream stream, const struct collective_call *call);
