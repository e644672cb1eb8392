// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { LOOK_NANOS = 1000000, POLL_NANOS = 50000, SLACK_NANOS = 1000 };

#define NEVER UINT64_MAX

pthread_mutex_t modelLock = PTHREAD_MUTEX_INITIALIZER;

static pthread_cond_t hostReady = PTHREAD_COND_INITIALIZER;
static struct work *hostFirst, *hostLast;

/** Signalled when works are done. */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void set_ready(struct work *work, uint64_t at);
static void simulate(struct gpu *gpu, uint64_t now);

// Order

struct work *work_new(struct gpu *gpu, enum work_kind kind, uint64_t nanos) {
  struct work *work = calloc(1, sizeof *work);
  *work = (struct work){.gpu = gpu, .kind = kind, .nanos = nanos, .leftNanos = nanos, .references = 2, .unmet = 1};
  return work;
}

struct work *work_keep(struct work *work) {
  if (work) work->references++;
  return work;
}

void work_drop(struct work *work) {
  if (!work || --work->references) return;
  free(work->successors);
  free(work);
}

void work_follow(struct work *work, struct work *before) {
  if (!before || before->done) return;
  if (before->successorCount == before->successorRoom) {
    before->successorRoom = before->successorRoom ? 2 * before->successorRoom : 2;
    before->successors = realloc(before->successors, before->successorRoom * sizeof *before->successors);
  }
  before->successors[before->successorCount++] = work;
  work->unmet++;
}

static void met(struct work *work, uint64_t at) {
  if (work->readyAt < at) work->readyAt = at;
  if (--work->unmet == 0) set_ready(work, work->readyAt);
}

/** Marks that are ready: in a list, for thousands may follow each other. */
static struct work *marks, *lastMark;
static bool isMarking;

static void set_done(struct work *work, uint64_t at);

static void finish_marks(void) {
  if (isMarking) return;
  isMarking = true;
  while (marks) {
    struct work *work = marks;
    marks = work->next;
    if (work->action) work->action(work);
    set_done(work, work->readyAt);
  }
  isMarking = false;
}

static void set_done(struct work *work, uint64_t at) {
  work->done = true;
  work->doneAt = at;
  if (work->queue) work->queue->length--;
  free(work->data);
  work->data = NULL;
  for (uint32_t i = 0; i < work->successorCount; i++) met(work->successors[i], at);
  work->successorCount = 0;
  pthread_cond_broadcast(&changed);
  work_drop(work);
  finish_marks();
}

static void finish(struct work *work, uint64_t at) {
  if (work->action) work->action(work);
  set_done(work, at);
}

/** Puts it where its end is the first that is not before those that are there. */
static void add_copy(struct gpu *gpu, struct work *work) {
  struct work **at = &gpu->copies;
  while (*at && (*at)->doneAt <= work->doneAt) at = &(*at)->next;
  work->next = *at;
  *at = work;
}

static void set_ready(struct work *work, uint64_t at) {
  struct gpu *gpu = work->gpu;
  work->readyAt = at;
  work->next = NULL;
  switch (work->kind) {
    case WORK_MARK:
      if (marks) lastMark->next = work; else marks = work;
      lastMark = work;
      return;
    case WORK_KERNEL:
      if (gpu->ready) gpu->lastReady->next = work; else gpu->ready = work;
      gpu->lastReady = work;
      return;
    case WORK_COPY_IN:
    case WORK_COPY_OUT:
      work->doneAt = card_copy(gpu->card, work->kind == WORK_COPY_IN ? COPY_IN : COPY_OUT, at, work->nanos);
      add_copy(gpu, work);
      return;
    case WORK_HOST:
      if (hostFirst) hostLast->next = work; else hostFirst = work;
      hostLast = work;
      pthread_cond_signal(&hostReady);
      return;
    case WORK_POLL:
      work->next = gpu->polls;
      gpu->polls = work;
      return;
  }
}

// Time

/** Starts kernels that were ready by then, as many as there is room for. */
static void start_kernels(struct gpu *gpu, uint64_t at) {
  while (gpu->ready && gpu->ready->readyAt <= at) {
    struct work *work = gpu->ready;
    uint32_t all = gpu->runningMultiprocessors + work->multiprocessors;
    if (gpu->running && all > options.multiprocessors) return;
    gpu->ready = work->next;
    work->next = gpu->running;
    gpu->running = work;
    gpu->runningMultiprocessors = all;
  }
}

static uint64_t shortest_left(const struct gpu *gpu) {
  uint64_t left = NEVER;
  for (const struct work *work = gpu->running; work; work = work->next) {
    if (work->leftNanos < left) left = work->leftNanos;
  }
  return left;
}

/** Kernels have run until a time. */
static void run(struct gpu *gpu, uint64_t nanos, uint64_t until) {
  struct work *ended = NULL;
  if (gpu->running) card_count(gpu->card, nanos);
  for (struct work **at = &gpu->running; *at;) {
    struct work *work = *at;
    if (work->leftNanos != NEVER) work->leftNanos -= nanos;
    if (work->leftNanos) {
      at = &work->next;
    } else {
      *at = work->next;
      gpu->runningMultiprocessors -= work->multiprocessors;
      work->next = ended;
      ended = work;
    }
  }
  while (ended) {
    struct work *work = ended;
    ended = work->next;
    finish(work, until);
  }
}

static void end_copies(struct gpu *gpu, uint64_t until) {
  while (gpu->copies && gpu->copies->doneAt <= until) {
    struct work *work = gpu->copies;
    gpu->copies = work->next;
    finish(work, work->doneAt);
  }
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

/** Goes on to the next thing that happens in a segment, or to its end. */
static uint64_t step(struct gpu *gpu, uint64_t from, struct segment segment) {
  uint64_t to = segment.end;
  if (gpu->copies) to = earlier(to, gpu->copies->doneAt);
  if (segment.held) {
    start_kernels(gpu, from);
    uint64_t left = shortest_left(gpu);
    if (left < to - from) to = from + left;
    // One that becomes ready meanwhile may run beside those that run.
    if (gpu->ready && gpu->ready->readyAt > from) to = earlier(to, gpu->ready->readyAt);
    run(gpu, to - from, to);
  }
  end_copies(gpu, to);
  return to;
}

static void poll(struct gpu *gpu, uint64_t now) {
  struct work *polls = gpu->polls;
  gpu->polls = NULL;
  while (polls) {
    struct work *work = polls;
    polls = work->next;
    if (work->action(work)) {
      set_done(work, now);
    } else {
      work->next = gpu->polls;
      gpu->polls = work;
    }
  }
}

static void simulate(struct gpu *gpu, uint64_t now) {
  while (gpu->simulated < now) {
    if (gpu->ready && !gpu->asked) {
      gpu->asked = true;
      card_ask(gpu->card, gpu->ready->readyAt);
    }
    struct segment segment = card_segment(gpu->card, gpu->simulated, now);
    gpu->simulated = step(gpu, gpu->simulated, segment);
    if (gpu->asked && !gpu->running && !gpu->ready) {
      gpu->asked = false;
      card_idle(gpu->card, gpu->simulated);
    }
  }
  if (gpu->polls) poll(gpu, now);
}

/** When something happens next, as far as is known. */
static uint64_t next_event(struct gpu *gpu, uint64_t now) {
  uint64_t next = now + LOOK_NANOS;
  if (gpu->polls) next = earlier(next, now + POLL_NANOS);
  if (gpu->copies) next = earlier(next, gpu->copies->doneAt);
  if (gpu->asked) next = earlier(next, card_slice_end(gpu->card));
  if (gpu->running) {
    uint64_t left = shortest_left(gpu);
    if (left != NEVER) next = earlier(next, gpu->simulated + left);
  }
  return next;
}

/** Sleeps until something may have happened; the lock is given up meanwhile. */
static void wait_for_more(struct gpu *gpu, bool precise) {
  uint64_t now = card_now();
  uint32_t count = card_wake_count(gpu->card);
  uint64_t until = precise ? next_event(gpu, now) : now + LOOK_NANOS;
  // Not each of many short kernels is checked.
  if (gpu->ready && gpu->running && until < now + POLL_NANOS) until = now + POLL_NANOS;
  pthread_mutex_unlock(&modelLock);
  if (until > now) card_sleep(gpu->card, count, until);
  pthread_mutex_lock(&modelLock);
  simulate(gpu, card_now());
}

void work_submit(struct work *work) {
  struct gpu *gpu = work->gpu;
  simulate(gpu, card_now());
  if (work->queue) {
    while (work->queue->length >= options.queue) wait_for_more(gpu, true);
    work->queue->length++;
  }
  if (work->kind == WORK_HOST) gpu->hosts++;
  met(work, card_now());
  finish_marks();
}

bool work_is_done(struct work *work) {
  if (!work->done) simulate(work->gpu, card_now());
  return work->done;
}

void work_await(struct work *work) {
  prctl(PR_SET_TIMERSLACK, SLACK_NANOS);
  while (!work_is_done(work)) wait_for_more(work->gpu, true);
}

uint64_t work_time(const struct work *work) { return work->doneAt; }

// Threads

struct start {
  struct gpu *gpu;
  uint32_t index;
  bool isOver;
  int error;
};

/** Sees to it that time goes on where nobody looks: for host functions, and for other processes. */
static void *keep_time(void *argument) {
  struct start *start = argument;
  struct gpu *gpu = start->gpu;
  prctl(PR_SET_TIMERSLACK, SLACK_NANOS);
  pthread_mutex_lock(&modelLock);
  gpu->card = card_join(start->index);
  gpu->simulated = card_now();
  start->error = gpu->card ? 0 : errno;
  start->isOver = true;
  pthread_cond_broadcast(&changed);
  if (!gpu->card) {
    pthread_mutex_unlock(&modelLock);
    return NULL;
  }
  while (1) {
    wait_for_more(gpu, gpu->hosts || gpu->polls || card_is_wanted(gpu->card));
  }
  return NULL;
}

static void *call_host_functions(void *argument) {
  pthread_mutex_lock(&modelLock);
  while (1) {
    while (!hostFirst) pthread_cond_wait(&hostReady, &modelLock);
    struct work *work = hostFirst;
    struct gpu *gpu = work->gpu;
    hostFirst = work->next;
    pthread_mutex_unlock(&modelLock);
    work->action(work);
    pthread_mutex_lock(&modelLock);
    gpu->hosts--;
    set_done(work, card_now());
    card_wake(gpu->card);
  }
  return argument;
}

static bool start_thread(void *(*run)(void *), void *argument) {
  pthread_t thread;
  int error = pthread_create(&thread, NULL, run, argument);
  if (error) {
    errno = error;
    return false;
  }
  pthread_detach(thread);
  return true;
}

bool work_start(struct gpu *gpu, uint32_t index) {
  static bool isHostThreadThere;
  struct start start = {.gpu = gpu, .index = index};
  if (!isHostThreadThere && !start_thread(call_host_functions, NULL)) return false;
  isHostThreadThere = true;
  if (!start_thread(keep_time, &start)) return false;
  while (!start.isOver) pthread_cond_wait(&changed, &modelLock);
  errno = start.error;
  return !start.error;
}
