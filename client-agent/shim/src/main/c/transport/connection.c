// SPDX-License-Identifier: Apache-2.0
#include "transport/connection.h"

#include "transport/session.h"

#include <poll.h>
#include <string.h>

enum { OTHERS_READ_MILLIS = 10 };

struct connection connections[MAX_CONNECTIONS];
uint32_t connectionCount = 1;

static bool somebody_reads(const struct connection *connection) {
  return __atomic_load_n(&connection->reader.role.word, __ATOMIC_RELAXED) != 0;
}

/** Takes what has come on a connection, if nobody else does. */
static void take_for_others(struct connection *connection) {
  if (!replies_begin(connection)) return;
  replies_take(connection);
  replies_end(connection);
}

short connection_poll(struct connection *connection, short events) {
  struct pollfd pollers[MAX_CONNECTIONS] = {{connection->stream, events, 0}};
  struct connection *others[MAX_CONNECTIONS];
  nfds_t count = 1;
  // Whoever reads a connection now may stop to; and while a session begins, patience has an end.
  bool forEver = events & POLLIN && session_ready();
  for (uint32_t i = 0; i < connectionCount; i++) {
    struct connection *other = &connections[i];
    if (other == connection) continue;
    if (somebody_reads(other)) {
      forEver = false;
    } else {
      others[count] = other;
      pollers[count++] = (struct pollfd){other->stream, POLLIN, 0};
    }
  }
  if (poll(pollers, count, forEver ? -1 : OTHERS_READ_MILLIS) <= 0) return 0;
  for (nfds_t i = 1; i < count; i++) {
    if (pollers[i].revents) take_for_others(others[i]);
  }
  return pollers[0].revents;
}

void connections_flush(void) {
  for (uint32_t i = 0; i < connectionCount; i++) ring_flush(&connections[i]);
}

static void reset(struct connection *connection) {
  uint8_t *ringBytes = connection->ring.bytes, *readBytes = connection->reader.buffer;
  memset(connection, 0, sizeof *connection);
  connection->ring.bytes = ringBytes;
  connection->ring.skipFrom = UINT64_MAX;
  connection->reader.buffer = readBytes;
}

void connections_reset(void) {
  for (uint32_t i = 0; i < MAX_CONNECTIONS; i++) reset(&connections[i]);
  connectionCount = 1;
}
