// SPDX-License-Identifier: Apache-2.0
#include "transport/room.h"

#include "transport/control.h"
#include "transport/cut.h"
#include "transport/poll.h"
#include "transport/reader.h"
#include "transport/retained.h"
#include "transport/session_state.h"

#include <poll.h>
#include <stdatomic.h>

enum { LOOK_NANOS = 1000000 };

static bool waits(const struct connection *connection, uint64_t begin) {
  return retained_begin(connection) == begin && session_alive() && !cut_now(connection);
}

void room_wait(struct connection *connection, uint64_t begin) {
  struct ring *ring = &connection->ring;
  if (cut_now(connection)) {
    cut_wait(connection);
  } else if (reader_begin(connection)) {
    // What is asked for leaves when the role is given up.
    bool look = waits(connection, begin) && !control_ask(connection);
    if (look && connection_poll(connection, POLLIN)) reader_take(connection);
    reader_end(connection);
  } else {
    uint32_t seen = atomic_load(&ring->room);
    atomic_store(&ring->roomWanted, 1);
    // The thread that reads may stop to, and leave nothing to wake this one: it looks again soon.
    struct timespec soon = {0, LOOK_NANOS};
    if (waits(connection, begin)) futex_wait(&ring->room, seen, &soon);
  }
}
