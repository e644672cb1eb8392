// SPDX-License-Identifier: Apache-2.0
#include "transport/cut.h"

#include "core/log.h"
#include "transport/session_state.h"

#include <stdio.h>
#include <sys/socket.h>

HOOK_TABLE(cut, cut_hook);

void cut_report(struct connection *connection, const char *cause) {
  struct cut *cut = &connection->cut;
  if (!connection_resumable(connection)) {
    session_broken(cause);
    return;
  }
  uint32_t expected = CUT_NONE;
  if (!session_alive() || !atomic_compare_exchange_strong(&cut->state, &expected, CUT_NOW)) return;
  snprintf(cut->cause, sizeof cut->cause, "%s", cause);
  cut->sinceNanos = now_nanos();
  cut->suspendedNanos = 0;
  // Wakes the threads that wait for this stream.
  shutdown(connection->stream, SHUT_RDWR);
  FOR_EACH_HOOK(cut, cut_hook, hook) (*hook)(connection);
}

void cut_wait_idle(struct connection *connection) {
  while (cut_now(connection) && session_alive()) futex_wait(&connection->cut.state, CUT_NOW, NULL);
}

void cut_wait(struct connection *connection) {
  atomic_fetch_add(&connection->cut.waiting, 1);
  cut_wait_idle(connection);
  atomic_fetch_sub(&connection->cut.waiting, 1);
}

void cut_end(struct connection *connection) {
  uint32_t expected = CUT_NOW;
  if (!atomic_compare_exchange_strong(&connection->cut.state, &expected, CUT_NONE)) return;
  futex_wake(&connection->cut.state, INT_MAX);
}

static void lost(void) {
  for (uint32_t i = 0; i < connectionCount; i++) {
    atomic_store(&connections[i].cut.state, CUT_LOST);
    futex_wake(&connections[i].cut.state, INT_MAX);
  }
}
ON_SESSION_LOST(lost);
