// SPDX-License-Identifier: Apache-2.0
// The unix socket of the machine's agent: connecting to it, and waits for it.
#pragma once

#include <stddef.h>

/**
 * A connection to the machine's agent; -1 and what was wrong and what to do if there is none. Calls
 * on it give up after agent_patience().
 */
int agent_connect(char *problem, size_t problemBytes);

/** The same, but an agent of a node that is away for a moment is not waited for, and calls give up after so long. */
int agent_connect_now(long patienceMillis, char *problem, size_t problemBytes);

/** The seconds for which agent and worker may be silent while a session begins; 0: no limit. */
int agent_patience(void);

/** Has calls on a socket give up with EAGAIN after so long; 0: never. */
void agent_limit_waits(int descriptor, long millis);
