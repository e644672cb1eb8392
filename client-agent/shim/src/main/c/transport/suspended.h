// SPDX-License-Identifier: Apache-2.0
// Waiting of a connection that is cut while its session is suspended: in a file of its server, and in no worker.
#pragma once

#include "transport/agent_resume.h"

/**
 * Waits until a suspended session goes on, and has it resumed as soon as the program wants something of it. Both roles
 * of the connection are held. The time does not count for the resume window.
 *
 * @return what the agent says in the end, as agent_resume does
 */
enum resume_answer suspended_wait(struct connection *connection, struct stream_terms *terms, char *problem,
                                  size_t problemBytes);
