// SPDX-License-Identifier: Apache-2.0
// Asking the agent for another call stream of a session. Protocol: docs/design/call-stream.md, "Shim and agent".
#pragma once

#include "transport/connection.h"
#include "transport/stream_terms.h"

enum resume_answer {
  RESUME_GRANTED,
  RESUME_LATER,  // the server cannot be reached now
  RESUME_NEVER,  // the session is gone, or is not this program's any longer
  RESUME_SUSPENDED,  // the session is in a file of its server, and goes on when its lease is resumed
};

/**
 * Asks for a stream of a connection's session. Granted, connection->cut has its descriptor, with these
 * terms. Else `problem` says why not. If the session is suspended, the connection to the agent stays in
 * connection->cut, and the agent says more on it.
 */
enum resume_answer agent_resume(struct connection *connection, long patienceMillis, struct stream_terms *terms,
                                char *problem, size_t problemBytes);

/** Receives what the agent says next of a suspended session, as agent_resume does. */
enum resume_answer agent_resume_next(struct connection *connection, struct stream_terms *terms, char *problem,
                                     size_t problemBytes);

/** Tells the agent that the program has made a call that waits for its suspended session. */
bool agent_resume_wake(struct connection *connection);
