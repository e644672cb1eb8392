// SPDX-License-Identifier: Apache-2.0
// Asking the agent for another call stream of a session. Protocol: docs/design/call-stream.md, "Shim and agent".
#pragma once

#include "transport/connection.h"
#include "transport/stream_terms.h"

enum resume_answer {
  RESUME_GRANTED,
  RESUME_LATER,  // the server cannot be reached now
  RESUME_NEVER,  // the session is gone, or is not this program's any longer
};

/**
 * Asks for a stream of a connection's session. Granted, connection->cut has its descriptor, with these
 * terms. Else `problem` says why not.
 */
enum resume_answer agent_resume(struct connection *connection, long patienceMillis, struct stream_terms *terms,
                                char *problem, size_t problemBytes);
