// SPDX-License-Identifier: Apache-2.0
#include "transport/writer.h"

#include "transport/sender.h"
#include "transport/session_state.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>

enum {
  TICK_NANOS = 50000,
  QUIET_TICKS = 8,
  STACK_BYTES = 256 << 10,
};

static void *writer_run(void *argument) {
  struct connection *connection = argument;
  prctl(PR_SET_NAME, "gpupool-writer");
  prctl(PR_SET_TIMERSLACK, 1UL);
  uint64_t seen = 0;
  int quiet = 0;
  while (session_alive()) {
    struct timespec tick = {0, TICK_NANOS};
    nanosleep(&tick, NULL);
    uint64_t published = atomic_load_explicit(&connection->ring.published, memory_order_acquire);
    if (published != atomic_load_explicit(&connection->ring.tail, memory_order_relaxed)) sender_drain(connection);
    quiet = published == seen ? quiet + 1 : 0;
    seen = published;
    if (quiet < QUIET_TICKS) continue;
    atomic_store(&connection->writer.state, WRITER_ASLEEP);
    // A thread that publishes after this line sees that we sleep; frames that are there by now are ours to write.
    if (atomic_load(&connection->ring.published) !=
        atomic_load(&connection->ring.tail)) {
      atomic_store(&connection->writer.state, WRITER_AWAKE);
    } else {
      while (atomic_load(&connection->writer.state) == WRITER_ASLEEP) {
        futex_wait(&connection->writer.state, WRITER_ASLEEP, NULL);
      }
    }
    quiet = 0;
  }
  atomic_store(&connection->writer.state, WRITER_ABSENT);
  return NULL;
}

/** Starts the thread with all signals blocked, so that no handler of the program runs on it. */
static bool writer_start(struct connection *connection) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  bool started = pthread_create(&thread, &attributes, writer_run, connection) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return started;
}

bool writer_wake(struct connection *connection) {
  uint32_t state = atomic_load(&connection->writer.state);
  if (state == WRITER_AWAKE) return true;
  if (state == WRITER_IMPOSSIBLE) return false;
  if (state == WRITER_ASLEEP) {
    if (atomic_compare_exchange_strong(&connection->writer.state, &state, WRITER_AWAKE)) {
      futex_wake(&connection->writer.state, 1);
    }
    return true;
  }
  lock_take(&connection->writer.starting);
  if (atomic_load(&connection->writer.state) == WRITER_ABSENT) {
    atomic_store(&connection->writer.state, WRITER_AWAKE);
    if (!writer_start(connection)) {
      atomic_store(&connection->writer.state, WRITER_IMPOSSIBLE);
    }
  }
  lock_release(&connection->writer.starting);
  return atomic_load(&connection->writer.state) != WRITER_IMPOSSIBLE;
}
