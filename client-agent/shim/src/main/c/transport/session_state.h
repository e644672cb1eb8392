// SPDX-License-Identifier: Apache-2.0
// The state of the process's one session on a worker, and how it is lost.
#pragma once

#include "core/driver.h"
#include "core/hooks.h"
#include "transport/connection.h"

#include <stdatomic.h>

enum session_state {
  SESSION_NONE,      // not asked for yet, or refused
  SESSION_ATTACHED,  // there, but the program has not called cuInit
  SESSION_READY,
  SESSION_LOST,
};

struct session {
  _Atomic int state;         // enum session_state
  int agent;         // descriptor that tells the agent that this process lives; may be a call stream
  _Atomic int nextAgent;  // one that may take its place; -1: none; only of sessions that can be resumed
  CUresult failure;  // what every call answers once lost
};

extern struct session session;

static inline bool session_ready(void) {
  return atomic_load_explicit(&session.state, memory_order_relaxed) == SESSION_READY;
}

static inline bool session_alive(void) {
  int state = atomic_load_explicit(&session.state, memory_order_relaxed);
  return state == SESSION_READY || state == SESSION_ATTACHED;
}

/** The result of a call when there is no session. */
CUresult session_answer(void);

typedef void lost_hook(void);

/** Adds a function that runs once when the session is lost, on any thread: it wakes those who wait. */
#define ON_SESSION_LOST(function) HOOK(session_lost, lost_hook, function)

/** Ends the session, for this reason: says so once on stderr. Any thread. Returns the failure. */
CUresult session_lose(CUresult failure, const char *cause);

/** Ends the session because a call stream broke; the agent may know the reason better. */
CUresult session_broken(const char *cause);

/** Ends the session because the worker sent what it must not. */
CUresult session_malformed(const char *what);

/** Ends the session without a word, because the process ends. */
void session_end(void);

enum { SESSION_DESCRIPTORS = 3 * MAX_CONNECTIONS + 2 };

/**
 * The descriptors of the session, each once: call streams, the agent's if it is none of them, and those that resuming
 * added.
 */
uint32_t session_descriptors(int list[SESSION_DESCRIPTORS]);
