// SPDX-License-Identifier: Apache-2.0
// Asking the agent for a session. Protocol: docs/design/call-stream.md, "Shim and agent".
#pragma once

#include "core/driver.h"
#include "transport/agent_socket.h"
#include "transport/stream_terms.h"
#include "transport/text_message.h"

enum { MAX_CONNECTIONS = 16 };  // of one session

/** One connection as the agent describes it. */
struct attached_connection {
  int stream;  // the call stream
  char server[256];
  char session[64];
  char address[256];  // where other servers reach this one; of several connections only
  char peerKey[80];   // what they show it; of several connections only
  struct stream_terms terms;
  char sessionKey[80];  // what resumes the session; only with a resume window
};

struct attachment {
  // The socket that tells the agent that this process lives. Where it relays and there is no window, the call stream.
  int agent;
  char ticket[256];  // of a lease that the agent holds for this process; only with a resume window
  uint32_t resumeWindow;  // seconds that the session outlives a broken connection; 0: none
  uint32_t connectionCount;
  struct attached_connection connections[MAX_CONNECTIONS];
};

/**
 * Connects and attaches. On failure answers the CUresult for cuInit and says in `problem` what was
 * wrong and what to do; no descriptor is left open.
 */
CUresult agent_attach(struct attachment *attachment, char *problem, size_t problemBytes);

/** Begins a message of this type with who asks, and by which right. */
void agent_introduce(struct text_message *message, const char *type);

/** The same, with what the program wants of a lease. */
void agent_describe(struct text_message *message, const char *type);

/** The reason for which the agent has ended the session, if it has given one. */
bool agent_reason(int agent, char *reason, size_t reasonBytes);
