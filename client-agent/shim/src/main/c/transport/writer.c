// SPDX-License-Identifier: Apache-2.0
#include "transport/writer.h"

#include "core/background.h"
#include "transport/control.h"
#include "transport/cut.h"
#include "transport/sender.h"
#include "transport/session_state.h"

#include <stdatomic.h>
#include <sys/prctl.h>

enum {
  TICK_NANOS = 50000,
  DOZE_NANOS = 200000,       // at first, and twice as long each time that there was nothing to do
  MOST_DOZE_NANOS = 800000,
  IDLE_TICKS = 8,
};

/** Returns whether there is something to write. */
static bool work(struct connection *connection) {
  return atomic_load(&connection->ring.published) != atomic_load(&connection->ring.tail) ||
         atomic_load(&connection->acknowledgement.due);
}

/** Sleeps until it is woken, or finds something to write. */
static void rest(struct connection *connection) {
  _Atomic uint32_t *state = &connection->writer.state;
  long nanos = DOZE_NANOS;
  uint32_t seen = atomic_load(&connection->ring.left) - 1;
  uint32_t dozing = WRITER_DOZING;
  atomic_store(state, WRITER_DOZING);
  // A thread that publishes after such a line sees that we sleep; frames that are there by now are ours to write.
  while (atomic_load(state) == WRITER_DOZING) {
    uint32_t left = atomic_load(&connection->ring.left);
    if (work(connection)) {
      atomic_store(state, WRITER_AWAKE);
    } else if (left != seen) {
      struct timespec doze = {0, nanos};
      seen = left;
      futex_wait(state, WRITER_DOZING, &doze);
      nanos = 2 * nanos < MOST_DOZE_NANOS ? 2 * nanos : MOST_DOZE_NANOS;
    } else if (atomic_compare_exchange_strong(state, &dozing, WRITER_ASLEEP) && work(connection)) {
      atomic_store(state, WRITER_AWAKE);
    }
  }
  while (atomic_load(state) == WRITER_ASLEEP) futex_wait(state, WRITER_ASLEEP, NULL);
}

static void *writer_run(void *argument) {
  struct connection *connection = argument;
  prctl(PR_SET_NAME, "gpupool-writer");
  prctl(PR_SET_TIMERSLACK, 1UL);
  int idle = 0;
  while (session_alive()) {
    struct timespec tick = {0, TICK_NANOS};
    nanosleep(&tick, NULL);
    cut_wait_idle(connection);
    idle = work(connection) ? 0 : idle + 1;
    if (idle == 0) {
      sender_drain(connection);
    } else if (idle >= IDLE_TICKS) {
      rest(connection);
      idle = 0;
    }
  }
  atomic_store(&connection->writer.state, WRITER_ABSENT);
  return NULL;
}

bool writer_wake(struct connection *connection) {
  uint32_t state = atomic_load(&connection->writer.state);
  if (state == WRITER_AWAKE) return true;
  if (state == WRITER_IMPOSSIBLE) return false;
  if (state == WRITER_ASLEEP || state == WRITER_DOZING) {
    if (atomic_compare_exchange_strong(&connection->writer.state, &state, WRITER_AWAKE)) {
      futex_wake(&connection->writer.state, 1);
    }
    return true;
  }
  lock_take(&connection->writer.starting);
  if (atomic_load(&connection->writer.state) == WRITER_ABSENT) {
    atomic_store(&connection->writer.state, WRITER_AWAKE);
    if (!background_start(writer_run, connection)) {
      atomic_store(&connection->writer.state, WRITER_IMPOSSIBLE);
    }
  }
  lock_release(&connection->writer.starting);
  return atomic_load(&connection->writer.state) != WRITER_IMPOSSIBLE;
}

static void acknowledge(struct connection *connection) {
  if (!writer_wake(connection)) sender_drain(connection);
}
ON_ACKNOWLEDGE(acknowledge);
