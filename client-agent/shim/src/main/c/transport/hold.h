// SPDX-License-Identifier: Apache-2.0
// Holding: a program whose agent has gone shows the next agent that it lives, and has it hold the lease that the former
// one held. Only where sessions outlive their connections; the call streams stay as they are.
#pragma once

#include "transport/agent.h"

/** Takes note of what the next agent is shown. */
void hold_enable(const struct attachment *attachment);

/** Looks whether the agent is there, and if not begins to ask for the next one. Of the watcher's thread. */
void hold_watch(void);

/**
 * Returns whether the lease must have ended so long ago, because the agent that held it is gone for longer than the
 * window; `reason` says so then.
 */
bool hold_is_over(uint64_t graceNanos, char *reason, size_t reasonBytes);

/** Asks for the next agent if the former one has gone, and waits so long for each answer; one question at a time. */
void hold_renew(long patienceMillis);
