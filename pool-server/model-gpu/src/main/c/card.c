// SPDX-License-Identifier: Apache-2.0
#include "card.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY = -1, MISSED = 8, MAGIC = 0x67706d31 };

struct span {
  uint64_t begin, end;
};

struct process {
  pthread_mutex_t alive;  // a thread of the process has it as long as the process lives
  uint32_t taken;
  int32_t pid;
  uint32_t wakes;         // a futex
  uint64_t askedAt;       // since when it has a kernel that is ready; 0: it has none
  uint64_t computeNanos, copyNanos;
  uint32_t blocks;
  uint32_t missed;        // slices that it had and has not looked at yet
  struct span spans[MISSED];
};

/** At the beginning of the card's file. */
struct state {
  uint32_t magic;         // last to be written
  uint32_t blocks;
  pthread_mutex_t lock;
  int32_t holder, lastHolder;
  struct span slice;      // the holder's
  uint64_t freeAt;        // where there is no holder: since when
  uint64_t copyFreeAt[COPY_ENGINES];
  struct process processes[MAX_PROCESSES];
  uint8_t owner[];        // of each block: 0, or the place of a process from 1
};

struct card {
  int file;
  int slot;
  uint64_t stateBytes;
  struct state *state;
};

uint64_t card_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void futex(uint32_t *word, int call, uint32_t value, const struct timespec *timeout) {
  syscall(SYS_futex, word, call, value, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void wake(struct process *process) {
  __atomic_add_fetch(&process->wakes, 1, __ATOMIC_SEQ_CST);
  futex(&process->wakes, FUTEX_WAKE, INT_MAX, NULL);
}

// The file

static uint64_t state_bytes(uint32_t blocks) {
  uint64_t bytes = sizeof(struct state) + blocks;
  return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

static void init_mutex(pthread_mutex_t *mutex) {
  pthread_mutexattr_t shared;
  pthread_mutexattr_init(&shared);
  pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex, &shared);
  pthread_mutexattr_destroy(&shared);
}

static bool make(int file) {
  uint32_t blocks = (uint32_t)(options.memoryBytes / BLOCK_BYTES);
  uint64_t bytes = state_bytes(blocks);
  // The server and its workers may be of different users.
  if (fchmod(file, 0666) || ftruncate(file, (off_t)(bytes + options.memoryBytes))) return false;
  struct state *state = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (state == MAP_FAILED) return false;
  state->blocks = blocks;
  state->holder = state->lastHolder = NOBODY;
  init_mutex(&state->lock);
  for (int i = 0; i < MAX_PROCESSES; i++) init_mutex(&state->processes[i].alive);
  __atomic_store_n(&state->magic, MAGIC, __ATOMIC_RELEASE);
  munmap(state, bytes);
  return true;
}

/** Opens a card's file, making it if `may_make`; -1 if it cannot be. */
static int open_file(uint32_t index, bool may_make) {
  char path[NAME_BYTES + 64];
  snprintf(path, sizeof path, "/dev/shm/gpupool-model-%s-%u", options.name, index);
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file >= 0 || !may_make || errno != ENOENT) return file;
  file = open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
  if (file < 0) return errno == EEXIST ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (make(file)) return file;
  int error = errno;
  unlink(path);
  close(file);
  errno = error;
  return -1;
}

/** Maps the state; another process may be making it. */
static struct card *map(int file) {
  struct stat facts;
  struct state *head = mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (head == MAP_FAILED) return NULL;
  for (int i = 0; i < 1000; i++) {
    if (fstat(file, &facts)) return NULL;
    if ((uint64_t)facts.st_size > sizeof *head &&
        __atomic_load_n(&head->magic, __ATOMIC_ACQUIRE) == MAGIC) {
      struct card *card = calloc(1, sizeof *card);
      *card = (struct card){.file = file, .slot = NOBODY, .stateBytes = state_bytes(head->blocks)};
      munmap(head, sizeof *head);
      card->state = mmap(NULL, card->stateBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (card->state != MAP_FAILED) return card;
      free(card);
      return NULL;
    }
    usleep(1000);
  }
  munmap(head, sizeof *head);
  errno = ETIMEDOUT;
  return NULL;
}

// Processes

static void lock(struct card *card) {
  // Each change is small, and what a dead process has half done is put right with the process.
  if (pthread_mutex_lock(&card->state->lock) == EOWNERDEAD) {
    pthread_mutex_consistent(&card->state->lock);
  }
}

static void unlock(struct card *card) { pthread_mutex_unlock(&card->state->lock); }

/** The next process after one that asks for the card, or NOBODY. */
static int32_t next_asking(const struct state *state, int32_t after) {
  for (int i = 1; i <= MAX_PROCESSES; i++) {
    int32_t slot = (after + i + MAX_PROCESSES) % MAX_PROCESSES;
    if (state->processes[slot].taken && state->processes[slot].askedAt) return slot;
  }
  return NOBODY;
}

/** Gives the card to the next that asks for it, or to nobody. The caller's own process sees it without being woken. */
static void pass_on(const struct card *card, uint64_t at) {
  struct state *state = card->state;
  int32_t next = next_asking(state, state->lastHolder);
  state->holder = next;
  state->freeAt = at;
  if (next == NOBODY) return;
  uint64_t begin = state->processes[next].askedAt;
  if (begin < at) begin = at;
  if (next != state->lastHolder) begin += options.switchNanos;
  state->slice = (struct span){begin, begin + options.sliceNanos};
  state->lastHolder = next;
  if (next != card->slot) wake(&state->processes[next]);
}

/** Takes note of a slice that its process, which is slow, will look at later. */
static void keep_for_later(struct process *process, struct span slice) {
  if (process->missed == MISSED) {
    memmove(process->spans, process->spans + 1, (MISSED - 1) * sizeof *process->spans);
    process->missed--;
  }
  process->spans[process->missed++] = slice;
}

static void wipe(const struct card *card, uint32_t block) {
  fallocate(card->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, card_offset(card, block), BLOCK_BYTES);
}

static void let_go(const struct card *card, int32_t slot, uint64_t now) {
  struct state *state = card->state;
  struct process *process = &state->processes[slot];
  for (uint32_t i = 0; i < state->blocks; i++) {
    if (state->owner[i] != slot + 1) continue;
    wipe(card, i);
    state->owner[i] = 0;
  }
  process->askedAt = 0;
  process->taken = 0;
  process->blocks = process->missed = 0;
  if (state->holder == slot) pass_on(card, now);
}

/** Frees what processes had that have died. The lock is held. */
static void bury(const struct card *card) {
  struct state *state = card->state;
  for (int32_t i = 0; i < MAX_PROCESSES; i++) {
    struct process *process = &state->processes[i];
    if (!process->taken) continue;
    int result = pthread_mutex_trylock(&process->alive);
    if (result == EBUSY) continue;
    if (result == EOWNERDEAD) pthread_mutex_consistent(&process->alive);
    let_go(card, i, card_now());
    pthread_mutex_unlock(&process->alive);
  }
}

/** Lets slices end that are over, whether or not their processes take part in it. */
static void let_end(const struct card *card, uint64_t now) {
  struct state *state = card->state;
  while (state->holder != NOBODY && state->slice.end <= now) {
    int32_t holder = state->holder;
    if (next_asking(state, holder) == holder || next_asking(state, holder) == NOBODY) {
      state->slice.end = now + options.sliceNanos;
      return;
    }
    // One that has not looked at its slices for long may be dead.
    if (state->processes[holder].missed == MISSED) bury(card);
    if (state->holder != holder) continue;
    keep_for_later(&state->processes[holder], state->slice);
    pass_on(card, state->slice.end);
  }
}

bool card_make(uint32_t index) {
  int file = open_file(index, true);
  return file >= 0 && close(file) == 0;
}

struct card *card_look(uint32_t index) {
  int file = open_file(index, false);
  if (file < 0) return NULL;
  struct card *card = map(file);
  if (!card) close(file);
  return card;
}

struct card *card_join(uint32_t index) {
  int file = open_file(index, true);
  if (file < 0) return NULL;
  struct card *card = map(file);
  if (!card) {
    close(file);
    return NULL;
  }
  lock(card);
  bury(card);
  for (int i = 0; i < MAX_PROCESSES && card->slot == NOBODY; i++) {
    struct process *process = &card->state->processes[i];
    if (process->taken || pthread_mutex_lock(&process->alive)) continue;
    process->taken = 1;
    process->pid = getpid();
    process->askedAt = process->computeNanos = process->copyNanos = 0;
    process->blocks = process->missed = 0;
    card->slot = i;
  }
  unlock(card);
  if (card->slot == NOBODY) errno = EUSERS;
  return card->slot == NOBODY ? NULL : card;
}

uint32_t card_usage(struct card *card, struct card_usage usage[MAX_PROCESSES]) {
  uint32_t count = 0;
  lock(card);
  bury(card);
  for (int i = 0; i < MAX_PROCESSES; i++) {
    const struct process *process = &card->state->processes[i];
    if (!process->taken) continue;
    usage[count++] = (struct card_usage){.pid = process->pid,
                                         .memoryBytes = (uint64_t)process->blocks * BLOCK_BYTES,
                                         .computeNanos = process->computeNanos,
                                         .copyNanos = process->copyNanos};
  }
  unlock(card);
  return count;
}

// Memory

uint64_t card_memory(const struct card *card) { return (uint64_t)card->state->blocks * BLOCK_BYTES; }

static uint32_t free_blocks(const struct state *state) {
  uint32_t used = 0;
  for (int i = 0; i < MAX_PROCESSES; i++) used += state->processes[i].taken ? state->processes[i].blocks : 0;
  return state->blocks - used;
}

uint64_t card_free_memory(struct card *card) {
  lock(card);
  bury(card);
  uint64_t bytes = (uint64_t)free_blocks(card->state) * BLOCK_BYTES;
  unlock(card);
  return bytes;
}

bool card_take(struct card *card, uint32_t count, uint32_t *blocks) {
  struct state *state = card->state;
  lock(card);
  if (free_blocks(state) < count) bury(card);
  bool enough = free_blocks(state) >= count;
  uint32_t found = 0;
  for (uint32_t i = 0; enough && found < count && i < state->blocks; i++) {
    if (state->owner[i]) continue;
    state->owner[i] = (uint8_t)(card->slot + 1);
    blocks[found++] = i;
  }
  if (enough) state->processes[card->slot].blocks += count;
  unlock(card);
  return enough;
}

void card_give(struct card *card, uint32_t count, const uint32_t *blocks) {
  // Nobody may find there what this process has written.
  for (uint32_t i = 0; i < count; i++) wipe(card, blocks[i]);
  lock(card);
  for (uint32_t i = 0; i < count; i++) card->state->owner[blocks[i]] = 0;
  card->state->processes[card->slot].blocks -= count;
  unlock(card);
}

int card_file(const struct card *card) { return card->file; }

int64_t card_offset(const struct card *card, uint32_t block) {
  return (int64_t)(card->stateBytes + (uint64_t)block * BLOCK_BYTES);
}

// Time

void card_ask(struct card *card, uint64_t ready) {
  if (options.isMpsClient) return;
  struct state *state = card->state;
  lock(card);
  struct process *mine = &state->processes[card->slot];
  if (!mine->askedAt) {
    mine->askedAt = ready;
    let_end(card, card_now());
    if (state->holder == NOBODY) {
      pass_on(card, state->freeAt);
    } else if (state->holder != card->slot) {
      wake(&state->processes[state->holder]);
    }
  }
  unlock(card);
}

void card_idle(struct card *card, uint64_t since) {
  if (options.isMpsClient) return;
  struct state *state = card->state;
  lock(card);
  state->processes[card->slot].askedAt = 0;
  if (state->holder == card->slot) pass_on(card, since);
  unlock(card);
}

struct segment card_segment(struct card *card, uint64_t from, uint64_t until) {
  struct state *state = card->state;
  struct segment segment = {until, false};
  if (options.isMpsClient) return (struct segment){until, true};
  lock(card);
  let_end(card, until);
  struct process *mine = &state->processes[card->slot];
  while (mine->missed && mine->spans[0].end <= from) {
    mine->missed--;
    memmove(mine->spans, mine->spans + 1, mine->missed * sizeof *mine->spans);
  }
  struct span span = mine->missed                   ? mine->spans[0]
                     : state->holder == card->slot ? state->slice
                                                   : (struct span){until, until};
  if (span.begin > from) {
    segment.end = span.begin < until ? span.begin : until;
  } else if (span.end > from) {
    segment = (struct segment){span.end < until ? span.end : until, true};
  }
  unlock(card);
  return segment;
}

bool card_is_wanted(struct card *card) {
  lock(card);
  int32_t next = next_asking(card->state, card->slot);
  unlock(card);
  return next != NOBODY && next != card->slot;
}

uint64_t card_slice_end(struct card *card) {
  if (options.isMpsClient) return UINT64_MAX;
  lock(card);
  uint64_t end = card->state->holder == NOBODY ? card_now() : card->state->slice.end;
  unlock(card);
  return end;
}

uint64_t card_copy(struct card *card, enum copy_engine engine, uint64_t ready, uint64_t nanos) {
  lock(card);
  uint64_t *freeAt = &card->state->copyFreeAt[engine];
  if (*freeAt < ready) *freeAt = ready;
  *freeAt += nanos;
  uint64_t end = *freeAt;
  card->state->processes[card->slot].copyNanos += nanos;
  unlock(card);
  return end;
}

void card_count(struct card *card, uint64_t computeNanos) {
  __atomic_add_fetch(&card->state->processes[card->slot].computeNanos, computeNanos, __ATOMIC_RELAXED);
}

// Waiting

uint32_t card_wake_count(const struct card *card) {
  return __atomic_load_n(&card->state->processes[card->slot].wakes, __ATOMIC_SEQ_CST);
}

void card_sleep(struct card *card, uint32_t wakeCount, uint64_t until) {
  struct timespec time = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
  futex(&card->state->processes[card->slot].wakes, FUTEX_WAIT_BITSET, wakeCount, &time);
}

void card_wake(struct card *card) { wake(&card->state->processes[card->slot]); }
