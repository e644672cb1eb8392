// SPDX-License-Identifier: Apache-2.0
// The writer thread: while frames keep coming it looks at the ring every few microseconds and writes what has gathered,
// so that the threads that post need no system call. While those threads write all that they post themselves, because
// they wait for each answer, it dozes: it looks more seldom, and is woken once a second frame gathers. Then it sleeps.
// In shared memory, threads send their first frames after a wait themselves, as long as the worker is awake; and the
// first of all to one that seldom sleeps.
#pragma once

#include "transport/connection.h"

#include <stdatomic.h>

/** Sees that the writer thread is awake; false if there is none and cannot be. */
bool writer_wake(struct connection *connection);

/** Returns whether the writer thread looks at the ring by itself every now and then. */
static inline bool writer_awake(const struct writer *writer) {
  return atomic_load(&writer->state) == WRITER_AWAKE;
}

/** Returns whether it at least looks so soon that one frame can be left to it. */
static inline bool writer_dozing(const struct writer *writer) {
  return atomic_load(&writer->state) == WRITER_DOZING;
}
