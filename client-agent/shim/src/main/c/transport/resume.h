// SPDX-License-Identifier: Apache-2.0
// Resuming: a thread for each connection that is cut gets another call stream from the agent, agrees with the worker on
// where both directions go on, and puts it in the place of the former one.
#pragma once

#include "transport/agent.h"

/** Has the sessions outlive their connections from now on; false if there is no memory. Nothing was sent yet. */
bool resume_enable(const struct attachment *attachment);
