// SPDX-License-Identifier: Apache-2.0
#include "transport/hold.h"

#include "core/background.h"
#include "core/fork.h"
#include "core/log.h"
#include "transport/connection.h"
#include "transport/session_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  ANSWER_MILLIS = 10000,  // within which an agent answers: it asks the pool, twice if need be
  PAUSE_SECONDS = 1,
  REFUSED_PAUSE_SECONDS = 10,  // after a refusal: the pool may learn of the session, or a token be renewed
  PROBLEM_BYTES = 1100,
};

static struct {
  struct lock lock;       // of the question
  _Atomic bool asking;    // there is a thread that asks until there is an agent
  _Atomic bool refused;   // the latest answer: only a change elsewhere helps
  _Atomic uint64_t goneNanos;  // when the agent was seen to be gone; 0: it is there
  char ticket[256];       // of a lease that the agent holds for this process; empty: another process holds it
  uint32_t windowSeconds;
} holding;

void hold_enable(const struct attachment *attachment) {
  memcpy(holding.ticket, attachment->ticket, sizeof holding.ticket);
  holding.windowSeconds = attachment->resumeWindow;
  atomic_store(&session.nextAgent, -1);
}

static void forget(void) { memset(&holding, 0, sizeof holding); }
ON_FORK(forget);

/** Returns whether the agent is still there, as far as its connection tells. */
static bool agent_lives(void) {
  char byte;
  ssize_t got = recv(session.agent, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && errno != ECONNRESET);
}

/** The same, and notes since when it is gone. */
static bool is_gone(void) {
  uint64_t never = 0;
  if (agent_lives()) return false;
  atomic_compare_exchange_strong(&holding.goneNanos, &never, now_nanos());
  return true;
}

static double gone_seconds(void) {
  uint64_t since = atomic_load(&holding.goneNanos);
  return since ? (double)(now_nanos() - since) / 1e9 : 0;
}

bool hold_is_over(uint64_t graceNanos, char *reason, size_t reasonBytes) {
  double gone = gone_seconds();
  if (!*holding.ticket || gone <= holding.windowSeconds + (double)graceNanos / 1e9) return false;
  snprintf(reason, reasonBytes, "its lease has ended: the agent that held it was lost %.1f s ago, and no other came within %u s",
           gone, holding.windowSeconds);
  return true;
}

static void add_numbered(struct text_message *message, const char *key, uint32_t number, const char *value) {
  char name[32];
  snprintf(name, sizeof name, "%s.%u", key, number);
  text_add(message, name, value);
}

/** Writes the question. It asks for the same lease as the attach message did: the agent knows shared leases by that. */
static void describe(struct text_message *message) {
  char number[16];
  agent_describe(message, "hold");
  if (*holding.ticket) text_add(message, "ticket", holding.ticket);
  snprintf(number, sizeof number, "%u", holding.windowSeconds);
  text_add(message, "window", number);
  snprintf(number, sizeof number, "%u", connectionCount);
  text_add(message, "streams", number);
  for (uint32_t i = 0; i < connectionCount; i++) {
    const struct cut *cut = &connections[i].cut;
    add_numbered(message, "server", i, cut->server);
    add_numbered(message, "session", i, cut->session);
    add_numbered(message, "session_key", i, cut->key);
  }
}

/** Asks an agent on a connection to it; false and the problem if it does not hold. */
static bool ask(int agent, char *problem) {
  char type[32], cause[32];
  struct text_message *message = malloc(sizeof *message);
  snprintf(problem, PROBLEM_BYTES, "no answer");
  if (!message) return false;
  describe(message);
  bool answered = text_send(message, agent) && text_receive(message, agent);
  bool held = false;
  if (answered) {
    text_get(message, "type", type, sizeof type);
    text_get(message, "cause", cause, sizeof cause);
    text_get(message, "message", problem, PROBLEM_BYTES);
    held = strcmp(type, "holding") == 0;
    if (held) {
      // Until it hears this, the agent takes the end of the connection for an answer that came too late.
      text_begin(message);
      text_add(message, "type", "held");
      held = text_send(message, agent);
    }
    atomic_store(&holding.refused, !held && strcmp(cause, "unreachable") != 0);
  }
  free(message);
  return held;
}

void hold_renew(long patienceMillis) {
  char problem[PROBLEM_BYTES];
  lock_take(&holding.lock);
  atomic_store(&holding.refused, false);
  if (session_alive() && is_gone()) {
    int agent = agent_connect_now(patienceMillis < ANSWER_MILLIS ? patienceMillis : ANSWER_MILLIS, problem, sizeof problem);
    if (agent >= 0) {
      atomic_store(&session.nextAgent, agent);
      if (ask(agent, problem)) {
        agent_limit_waits(agent, 0);
        if (dup3(agent, session.agent, O_CLOEXEC) >= 0) atomic_store(&holding.goneNanos, 0);
      }
      atomic_store(&session.nextAgent, -1);
      close(agent);
      // Who lost the session meanwhile has shut the former one's descriptor down.
      if (!session_alive()) shutdown(session.agent, SHUT_RDWR);
    }
    if (session_alive() && !agent_lives()) log_line(LOG_DEBUG, "no agent holds the session: %s", problem);
  }
  lock_release(&holding.lock);
}

static void *hold_run(void *nothing) {
  prctl(PR_SET_NAME, "gpupool-hold");
  enum log_level level = *holding.ticket ? LOG_WARN : LOG_INFO;
  uint64_t sinceNanos = now_nanos();
  if (*holding.ticket) {
    log_line(level, "lost the agent, which held the lease; without another for %u s the lease ends",
             holding.windowSeconds);
  } else {
    log_line(level, "lost the agent; looking for the next one");
  }
  for (hold_renew(ANSWER_MILLIS); session_alive() && !agent_lives(); hold_renew(ANSWER_MILLIS)) {
    struct timespec pause = {atomic_load(&holding.refused) ? REFUSED_PAUSE_SECONDS : PAUSE_SECONDS, 0};
    nanosleep(&pause, NULL);
  }
  if (session_alive()) {
    log_line(level, "an agent is there again after %.1f s", (double)(now_nanos() - sinceNanos) / 1e9);
  }
  atomic_store(&holding.asking, false);
  return nothing;
}

void hold_watch(void) {
  bool expected = false;
  if (!session_alive() || !is_gone()) return;
  if (!atomic_compare_exchange_strong(&holding.asking, &expected, true)) return;
  if (!background_start(hold_run, NULL)) atomic_store(&holding.asking, false);
}
