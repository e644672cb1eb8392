// SPDX-License-Identifier: Apache-2.0
#include "transport/agent_resume.h"

#include "transport/agent.h"
#include "transport/descriptors.h"
#include "transport/text_message.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void describe(struct text_message *message, const struct cut *cut) {
  char window[16];
  snprintf(window, sizeof window, "%u", cut->windowSeconds);
  agent_introduce(message, "resume");
  text_add(message, "session", cut->session);
  text_add(message, "session_key", cut->key);
  text_add(message, "server", cut->server);
  text_add(message, "resume_window", window);
  text_add(message, "holds", "0");
  text_add(message, "suspends", "1");
  stream_terms_offer(message);
}

static enum resume_answer refusal(const struct text_message *answer, char *problem, size_t problemBytes) {
  char cause[32];
  text_get(answer, "cause", cause, sizeof cause);
  text_get(answer, "message", problem, problemBytes);
  if (!*problem) snprintf(problem, problemBytes, "the agent refused, and did not say why");
  bool never = strcmp(cause, "refused") == 0 || strcmp(cause, "denied") == 0 || strcmp(cause, "protocol") == 0;
  return never ? RESUME_NEVER : RESUME_LATER;
}

/** Receives an answer of the agent. */
static enum resume_answer receive(struct text_message *message, struct cut *cut, int agent, struct stream_terms *terms,
                                  char *problem, size_t problemBytes) {
  char type[32];
  snprintf(problem, problemBytes, "the agent hung up without an answer");
  if (!text_receive(message, agent)) return RESUME_LATER;
  text_get(message, "type", type, sizeof type);
  if (strcmp(type, "refused") == 0) return refusal(message, problem, problemBytes);
  if (strcmp(type, "suspended") == 0) {
    text_get(message, "reason", problem, problemBytes);
    return RESUME_SUSPENDED;
  }
  if (strcmp(type, "resumed") != 0) {
    snprintf(problem, problemBytes, "the agent answers '%s': it is of a version that cannot resume", type);
    return RESUME_NEVER;
  }
  stream_terms_get(message, UINT32_MAX, terms);
  int stream = descriptor_receive(agent);
  if (stream < 0) return RESUME_LATER;
  atomic_store(&cut->stream, stream);
  return RESUME_GRANTED;
}

static void hang_up(struct cut *cut) {
  int agent = atomic_exchange(&cut->agent, -1);
  if (agent >= 0) close(agent);
}

enum resume_answer agent_resume(struct connection *connection, long patienceMillis, struct stream_terms *terms,
                                char *problem, size_t problemBytes) {
  struct cut *cut = &connection->cut;
  struct text_message *message = malloc(sizeof *message);
  if (!message) {
    snprintf(problem, problemBytes, "no memory to ask the agent");
    return RESUME_LATER;
  }
  enum resume_answer answer = RESUME_LATER;
  int agent = agent_connect_now(patienceMillis, problem, problemBytes);
  if (agent >= 0) {
    atomic_store(&cut->agent, agent);
    describe(message, cut);
    snprintf(problem, problemBytes, "the agent hung up without an answer");
    if (text_send(message, agent)) answer = receive(message, cut, agent, terms, problem, problemBytes);
    if (answer != RESUME_SUSPENDED) hang_up(cut);
  }
  free(message);
  return answer;
}

enum resume_answer agent_resume_next(struct connection *connection, struct stream_terms *terms, char *problem,
                                     size_t problemBytes) {
  struct cut *cut = &connection->cut;
  struct text_message *message = malloc(sizeof *message);
  enum resume_answer answer = RESUME_LATER;
  if (message) {
    answer = receive(message, cut, atomic_load(&cut->agent), terms, problem, problemBytes);
    free(message);
  }
  if (answer != RESUME_SUSPENDED) hang_up(cut);
  return answer;
}

bool agent_resume_wake(struct connection *connection) {
  struct text_message *message = malloc(sizeof *message);
  if (!message) return false;
  text_begin(message);
  text_add(message, "type", "wake");
  bool sent = text_send(message, atomic_load(&connection->cut.agent));
  free(message);
  return sent;
}
