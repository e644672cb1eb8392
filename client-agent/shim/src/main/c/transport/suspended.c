// SPDX-License-Identifier: Apache-2.0
#include "transport/suspended.h"

#include "core/driver.h"
#include "core/log.h"
#include "transport/session_state.h"

#include <poll.h>
#include <stdatomic.h>

enum { LOOK_MILLIS = 100 };

/** Returns whether a thread waits for an answer. */
static bool call_waits(struct connection *connection) {
  struct call_table *calls = &connection->calls;
  bool waits = false;
  lock_take(&calls->lock);
  for (struct call *call = calls->first; call && !waits; call = call->later) waits = call->kind != CALL_COPY;
  lock_release(&calls->lock);
  return waits;
}

/** Returns whether the program has asked for something since, or waits for what it has asked for before. */
static bool wanted(struct connection *connection) {
  struct ring *ring = &connection->ring;
  bool posted = atomic_load(&ring->published) != atomic_load(&ring->tail);
  bool sleeps = atomic_load(&ring->role.word) == 2;  // somebody has a large frame to write
  bool stopped = atomic_load(&connection->cut.waiting) > 0;  // or was in the middle of it
  return posted || sleeps || stopped || call_waits(connection);
}

/** Waits until the agent says something; false if the session is lost meanwhile. */
static bool listen_to_agent(struct connection *connection) {
  struct pollfd agent = {.fd = atomic_load(&connection->cut.agent), .events = POLLIN};
  bool woken = false;
  while (session_alive()) {
    if (poll(&agent, 1, LOOK_MILLIS) > 0) return true;
    if (!woken && wanted(connection)) {
      if (!agent_resume_wake(connection)) return true;
      woken = true;
    }
  }
  return false;
}

enum resume_answer suspended_wait(struct connection *connection, struct stream_terms *terms, char *problem,
                                  size_t problemBytes) {
  struct cut *cut = &connection->cut;
  uint64_t beganNanos = now_nanos();
  enum resume_answer answer = RESUME_SUSPENDED;
  while (answer == RESUME_SUSPENDED) {
    log_line(LOG_WARN, "the session at %s waits: %s", cut->server, problem);
    answer = listen_to_agent(connection) ? agent_resume_next(connection, terms, problem, problemBytes) : RESUME_LATER;
  }
  cut->suspendedNanos += now_nanos() - beganNanos;
  return answer;
}
