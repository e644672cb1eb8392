// SPDX-License-Identifier: Apache-2.0
#include "transport/writer.h"

#include "transport/sender.h"
#include "transport/session_state.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
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
    uint64_t published = __atomic_load_n(&connection->ring.published, __ATOMIC_ACQUIRE);
    if (published != __atomic_load_n(&connection->ring.tail, __ATOMIC_RELAXED)) sender_drain(connection);
    quiet = published == seen ? quiet + 1 : 0;
    seen = published;
    if (quiet < QUIET_TICKS) continue;
    __atomic_store_n(&connection->writer.state, WRITER_ASLEEP, __ATOMIC_SEQ_CST);
    // Whoever publishes after this line sees that we sleep; what is there by now is ours to write.
    if (__atomic_load_n(&connection->ring.published, __ATOMIC_SEQ_CST) !=
        __atomic_load_n(&connection->ring.tail, __ATOMIC_SEQ_CST)) {
      __atomic_store_n(&connection->writer.state, WRITER_AWAKE, __ATOMIC_SEQ_CST);
    } else {
      while (__atomic_load_n(&connection->writer.state, __ATOMIC_SEQ_CST) == WRITER_ASLEEP) {
        futex_wait(&connection->writer.state, WRITER_ASLEEP, NULL);
      }
    }
    quiet = 0;
  }
  __atomic_store_n(&connection->writer.state, WRITER_ABSENT, __ATOMIC_SEQ_CST);
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
  uint32_t state = __atomic_load_n(&connection->writer.state, __ATOMIC_SEQ_CST);
  if (state == WRITER_AWAKE) return true;
  if (state == WRITER_IMPOSSIBLE) return false;
  if (state == WRITER_ASLEEP) {
    if (__atomic_compare_exchange_n(&connection->writer.state, &state, WRITER_AWAKE, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
      futex_wake(&connection->writer.state, 1);
    }
    return true;
  }
  lock_take(&connection->writer.starting);
  if (__atomic_load_n(&connection->writer.state, __ATOMIC_SEQ_CST) == WRITER_ABSENT) {
    __atomic_store_n(&connection->writer.state, WRITER_AWAKE, __ATOMIC_SEQ_CST);
    if (!writer_start(connection)) {
      __atomic_store_n(&connection->writer.state, WRITER_IMPOSSIBLE, __ATOMIC_SEQ_CST);
    }
  }
  lock_release(&connection->writer.starting);
  return __atomic_load_n(&connection->writer.state, __ATOMIC_SEQ_CST) != WRITER_IMPOSSIBLE;
}
