// SPDX-License-Identifier: Apache-2.0
// Operations and their order: an operation is ready when those it follows are done. They are done at
// modelled times, of which the past is computed when somebody looks: no thread has to be in time.
#pragma once

#include "card.h"

#include <pthread.h>

struct gpu;
struct work;

enum work_kind {
  WORK_MARK,     // takes no time: events, joins
  WORK_KERNEL,   // has a share of the multiprocessors for some time
  WORK_COPY_IN,  // has a copy engine for some time
  WORK_COPY_OUT,
  WORK_HOST,     // a function of the program's, on a thread of the driver's
  WORK_POLL,     // is done when its function says so
};

/** Does what the work stands for, when it is done. False, of WORK_POLL: not yet. */
typedef bool work_action(struct work *work);

struct work {
  struct gpu *gpu;
  enum work_kind kind;
  uint64_t nanos;          // that it takes; UINT64_MAX: it does not end
  uint32_t multiprocessors;
  work_action *action;     // may be NULL
  void *data;              // of the action; freed after it
  uint64_t a, b, c, d;     // of the action
  struct queue *queue;     // of which it takes a place until it is done; may be NULL

  // for work.c alone
  uint32_t references, unmet, successorCount, successorRoom;
  struct work **successors;
  uint64_t readyAt, doneAt, leftNanos;
  bool done;
  struct work *next;
};

/** Places for operations that are not done; where there are none, submitting waits. */
struct queue {
  uint32_t length;
};

/** Operations of one card in this process. */
struct gpu {
  struct card *card;
  uint64_t simulated;         // up to when all is computed
  bool asked;                 // for the card
  struct work *ready, *lastReady;  // kernels
  struct work *running;
  struct work *copies;        // under way, by their ends
  struct work *polls;
  uint32_t runningMultiprocessors;
  uint32_t hosts;             // host functions that are not done
};

/** Guards all that is not of the card's. Actions run with it held, host functions without. */
extern pthread_mutex_t modelLock;

/** Joins a card, and starts the threads that see to it; false if that cannot be, and errno says why. */
bool work_start(struct gpu *gpu, uint32_t index);

struct work *work_new(struct gpu *gpu, enum work_kind kind, uint64_t nanos);

/** Has a work follow another, which may be NULL or done. Before work_submit. */
void work_follow(struct work *work, struct work *before);

/** Lets it begin once all is done that it follows. Waits for a place in its queue. The caller keeps a reference. */
void work_submit(struct work *work);

struct work *work_keep(struct work *work);
void work_drop(struct work *work);

/** Returns whether it is done by now. */
bool work_is_done(struct work *work);

/** Waits until it is done. */
void work_await(struct work *work);

/** When it was done. */
uint64_t work_time(const struct work *work);
