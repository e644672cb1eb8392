// SPDX-License-Identifier: Apache-2.0
// Asking the agent for a session. Protocol: docs/design/call-stream.md, "Shim and agent".
#pragma once

#include "core/driver.h"
#include "transport/text_message.h"

enum { MAX_CONNECTIONS = 16 };  // of one session

/** One connection as the agent describes it. */
struct attached_connection {
  int stream;  // the call stream
  char server[256];
  char session[64];
  char address[256];  // where other servers reach this one; of several connections only
  char peerKey[80];   // what they show it; of several connections only
};

struct attachment {
  int agent;  // the socket that tells the agent that this process lives; with one connection perhaps its call stream
  uint32_t connectionCount;
  struct attached_connection connections[MAX_CONNECTIONS];
};

/**
 * Connects and attaches. On failure answers the CUresult for cuInit and says in `problem` what was
 * wrong and what to do; no descriptor is left open.
 */
CUresult agent_attach(struct attachment *attachment, char *problem, size_t problemBytes);

/**
 * A connection to the machine's agent; -1 and what was wrong and what to do if there is none. Calls
 * on it give up after agent_patience().
 */
int agent_connect(char *problem, size_t problemBytes);

/** Begins a message of this type with what the agent must know of this program. */
void agent_describe(struct text_message *message, const char *type);

/** The reason for which the agent has ended the session, if it has given one. */
bool agent_reason(int agent, char *reason, size_t reasonBytes);

/** The seconds for which agent and worker may be silent while a session begins; 0: no limit. */
int agent_patience(void);

/** Has calls on a socket give up with EAGAIN after so long; 0: never. */
void agent_limit_waits(int descriptor, int seconds);
