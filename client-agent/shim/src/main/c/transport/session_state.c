// SPDX-License-Identifier: Apache-2.0
#include "transport/session_state.h"

#include "core/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

struct session session;

HOOK_TABLE(session_lost, lost_hook);

CUresult session_answer(void) {
  int state = atomic_load_explicit(&session.state, memory_order_acquire);
  return state == SESSION_LOST ? session.failure : CUDA_ERROR_NOT_INITIALIZED;
}

uint32_t session_descriptors(int list[SESSION_DESCRIPTORS]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < connectionCount; i++) list[count++] = connections[i].stream;
  if (session.agent != connections[0].stream) list[count++] = session.agent;
  for (uint32_t i = 0; i < connectionCount; i++) {
    if (!connection_resumable(&connections[i])) continue;
    struct cut *cut = &connections[i].cut;
    int more[] = {i ? -1 : atomic_load(&session.nextAgent), atomic_load(&cut->agent), atomic_load(&cut->stream)};
    for (int j = 0; j < 3; j++) {
      if (more[j] >= 0) list[count++] = more[j];
    }
  }
  return count;
}

/** Marks the session as lost; true for the first caller. */
static bool become_lost(CUresult failure) {
  int expected = SESSION_READY;
  session.failure = failure;
  return atomic_compare_exchange_strong(&session.state, &expected, SESSION_LOST) ||
         (expected == SESSION_ATTACHED &&
          atomic_compare_exchange_strong(&session.state, &expected, SESSION_LOST));
}

static void give_up(const char *cause) {
  log_line(LOG_ERROR, "the session is lost: %s; CUDA calls now fail, start the program again", cause);
  int list[SESSION_DESCRIPTORS];
  for (uint32_t i = session_descriptors(list); i; i--) shutdown(list[i - 1], SHUT_RDWR);
  FOR_EACH_HOOK(session_lost, lost_hook, hook) (*hook)();
}

void session_end(void) { become_lost(CUDA_ERROR_DEINITIALIZED); }

CUresult session_lose(CUresult failure, const char *cause) {
  if (become_lost(failure)) give_up(cause);
  return session_answer();
}

CUresult session_broken(const char *cause) {
  char reason[512];
  if (become_lost(CUDA_ERROR_DEVICE_UNAVAILABLE)) {
    bool known = session.agent != connections[0].stream && agent_reason(session.agent, reason, sizeof reason);
    give_up(known ? reason : cause);
  }
  return session_answer();
}

CUresult session_malformed(const char *what) {
  char cause[256];
  snprintf(cause, sizeof cause, "the worker sent %s", what);
  return session_lose(CUDA_ERROR_DEVICE_UNAVAILABLE, cause);
}
