// SPDX-License-Identifier: Apache-2.0
#include "transport/poll.h"

#include "transport/cut.h"
#include "transport/reader.h"
#include "transport/session_state.h"

#include <poll.h>
#include <stdatomic.h>

enum { OTHERS_READ_MILLIS = 10 };

static bool somebody_reads(const struct connection *connection) {
  return atomic_load_explicit(&connection->reader.role.word, memory_order_relaxed) != 0;
}

/** Reads the answers that have arrived on a connection, if nobody else does. */
static void take_for_others(struct connection *connection) {
  if (!reader_begin(connection)) return;
  reader_take(connection);
  reader_end(connection);
}

short connection_poll(struct connection *connection, short events) {
  struct pollfd pollers[MAX_CONNECTIONS] = {{connection->stream, events, 0}};
  struct connection *others[MAX_CONNECTIONS];
  nfds_t count = 1;
  // A thread that reads another connection now may stop; and while a session begins, the wait has a limit.
  bool unlimited = events & POLLIN && session_ready();
  for (uint32_t i = 0; i < connectionCount; i++) {
    struct connection *other = &connections[i];
    if (other == connection || cut_now(other)) continue;
    if (somebody_reads(other)) {
      unlimited = false;
    } else {
      others[count] = other;
      pollers[count++] = (struct pollfd){other->stream, POLLIN, 0};
    }
  }
  if (poll(pollers, count, unlimited ? -1 : OTHERS_READ_MILLIS) <= 0) return 0;
  for (nfds_t i = 1; i < count; i++) {
    if (pollers[i].revents) take_for_others(others[i]);
  }
  return pollers[0].revents;
}
