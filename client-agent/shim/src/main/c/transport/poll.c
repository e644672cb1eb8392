// SPDX-License-Identifier: Apache-2.0
#include "transport/poll.h"

#include "transport/cut.h"
#include "transport/reader.h"
#include "transport/session_state.h"
#include "transport/shared_stream.h"

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

/** Has a worker on this machine wake the poll; POLLIN if an answer has come already. */
static short begin(struct connection *connection) {
  return connection->shared.on && !shared_poll_begin(connection) ? POLLIN : 0;
}

short connection_poll(struct connection *connection, short events) {
  struct pollfd pollers[MAX_CONNECTIONS] = {{connection->stream, events, 0}};
  struct connection *others[MAX_CONNECTIONS];
  nfds_t count = 1;
  short there = events & POLLIN ? begin(connection) : 0;
  // A thread that reads another connection now may stop; and while a session begins, the wait has a limit.
  bool unlimited = events & POLLIN && session_ready();
  for (uint32_t i = 0; i < connectionCount; i++) {
    struct connection *other = &connections[i];
    if (other == connection || cut_now(other)) continue;
    if (somebody_reads(other)) {
      unlimited = false;
    } else {
      others[count] = other;
      if (begin(other)) take_for_others(other);
      pollers[count++] = (struct pollfd){other->stream, POLLIN, 0};
    }
  }
  int millis = unlimited ? -1 : OTHERS_READ_MILLIS;
  if (connection->shared.on && events & POLLOUT) {
    if (!there) shared_await_room(connection);
    pollers[0].events = events & POLLIN;
    there |= POLLOUT;
  }
  if (poll(pollers, count, there ? 0 : millis) <= 0) return there;
  for (nfds_t i = 1; i < count; i++) {
    if (!pollers[i].revents) continue;
    shared_look(others[i]);
    take_for_others(others[i]);
  }
  if (pollers[0].revents) shared_look(connection);
  return pollers[0].revents | there;
}
