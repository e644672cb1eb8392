// SPDX-License-Identifier: Apache-2.0
// The process's one session on a worker: whether there is one, how it begins and how it is lost.
#pragma once

#include "core/driver.h"

enum session_state {
  SESSION_NONE,      // not asked for yet, or refused
  SESSION_ATTACHED,  // there, but the program has not called cuInit
  SESSION_READY,
  SESSION_LOST,
};

struct session {
  int state;         // enum session_state
  int agent;         // descriptor that tells the agent that this process lives; may be a call stream
  CUresult failure;  // what every call answers once lost
};

extern struct session session;

static inline bool session_ready(void) {
  return __atomic_load_n(&session.state, __ATOMIC_RELAXED) == SESSION_READY;
}

static inline bool session_alive(void) {
  int state = __atomic_load_n(&session.state, __ATOMIC_RELAXED);
  return state == SESSION_READY || state == SESSION_ATTACHED;
}

/** What a call answers when there is no session. */
CUresult session_answer(void);

/** Begins the session unless there is one; CUDA_ERROR_NO_DEVICE or _SYSTEM_NOT_READY if that fails. */
CUresult session_attach(void);

/** Ends the session, for this reason: says so once on stderr. Any thread. Returns the failure. */
CUresult session_lose(CUresult failure, const char *cause);

/** Ends the session because a call stream broke; the agent may know the reason better. */
CUresult session_broken(const char *cause);

/** Ends the session because the worker sent what it must not. */
CUresult session_malformed(const char *what);

/** Forgets the session in a forked child. */
void session_reset(void);
