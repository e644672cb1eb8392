// SPDX-License-Identifier: Apache-2.0
// Waits for the device while mapped memory goes to and fro: a kernel may be waiting for a word that another thread of
// the program writes, or that thread for one of the kernel's.
#include "core/fork.h"
#include "core/log.h"
#include "memory/mirror.h"
#include "stream/work_hooks.h"
#include "transport/session.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum {
  PAUSE_NANOS = 1000000,
  COST_FACTOR = 20,  // so long a pause as the last exchange took, times this: it takes 5 % of a processor at most
  MAX_PAUSE_NANOS = 500000000,
  PATIENCE_SECONDS = 5,
};

static struct {
  struct lock lock;  // of the start
  _Atomic bool started;
  bool told;
  _Atomic uint32_t waits;  // under way
  _Atomic uint32_t ended;
} all;

static void pause_for(uint64_t nanos) {
  struct timespec time = {.tv_sec = (time_t)(nanos / 1000000000), .tv_nsec = (long)(nanos % 1000000000)};
  nanosleep(&time, NULL);
}

static void tell_once(void) {
  if (all.told) return;
  all.told = true;
  log_line(LOG_WARN,
           "a wait for the GPU has taken %d s: a kernel may be waiting for host memory. What the program writes to"
           " page-locked memory while it waits reaches kernels after a millisecond or more; what it writes to other"
           " memory does not",
           PATIENCE_SECONDS);
}

/** Exchanges until no wait is under way; false if the session has ended. */
static bool exchange(void) {
  uint64_t pause = PAUSE_NANOS, since = now_nanos();
  uint32_t ended = atomic_load_explicit(&all.ended, memory_order_relaxed);
  while (atomic_load(&all.waits)) {
    pause_for(pause);
    if (!session_ready()) return false;
    if (!atomic_load(&all.waits)) break;
    uint64_t begin = now_nanos();
    mirrors_exchange();
    uint64_t end = now_nanos();
    pause = (end - begin) * COST_FACTOR;
    if (pause < PAUSE_NANOS) pause = PAUSE_NANOS;
    if (pause > MAX_PAUSE_NANOS) pause = MAX_PAUSE_NANOS;
    if (ended != atomic_load_explicit(&all.ended, memory_order_relaxed)) {
      ended = atomic_load_explicit(&all.ended, memory_order_relaxed);
      since = end;
    }
    if (end - since > PATIENCE_SECONDS * 1000000000ull) tell_once();
  }
  return true;
}

static void *run(void *unused) {
  (void)unused;
  while (exchange()) futex_wait(&all.waits, 0, NULL);
  return NULL;
}

static void start(void) {
  lock_take(&all.lock);
  if (!all.started) {
    sigset_t every, before;
    pthread_t thread;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    all.started = pthread_create(&thread, NULL, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (all.started) pthread_detach(thread);
  }
  lock_release(&all.lock);
}

static void mirror_wait_enter(void) {
  if (!atomic_fetch_add(&all.waits, 1)) futex_wake(&all.waits, 1);
  if (!atomic_load_explicit(&all.started, memory_order_relaxed)) start();
}
WAIT_BEGINS(mirror_wait_enter);

static void mirror_wait_leave(void) {
  atomic_fetch_add_explicit(&all.ended, 1, memory_order_relaxed);
  atomic_fetch_sub(&all.waits, 1);
}
WAIT_ENDS(mirror_wait_leave);

static void mirror_wait_reset(void) {
  all.lock.word = 0;
  all.started = all.told = false;
  all.waits = 0;
}

ON_FORK(mirror_wait_reset);
