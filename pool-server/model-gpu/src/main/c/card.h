// SPDX-License-Identifier: Apache-2.0
// A modelled card: its memory and its time, which all processes that use it share.
#pragma once

#include "options.h"

enum {
  BLOCK_BYTES = 2 << 20,  // of memory, which is given out in whole blocks
  MAX_PROCESSES = 64,
};

struct card;

/** Use of a card by one process. */
struct card_usage {
  int32_t pid;
  uint64_t memoryBytes;
  uint64_t computeNanos;  // in which a kernel of it ran
  uint64_t copyNanos;     // in which a copy of it ran
};

/** A piece of time in which a process has the card for its kernels, or has not. MPS clients always have it. */
struct segment {
  uint64_t end;
  bool held;
};

enum copy_engine { COPY_IN, COPY_OUT, COPY_ENGINES };

/** The time that all cards and processes share: nanoseconds. */
uint64_t card_now(void);

/**
 * Makes a card, for all users of the machine, if it is not there.
 *
 * @return false if it cannot be; errno says why
 */
bool card_make(uint32_t index);

/**
 * Joins the processes that use a card, for as long as the calling thread lives.
 *
 * @return NULL if the card cannot be, or has no place for another process; errno says why
 */
struct card *card_join(uint32_t index);

/**
 * Opens a card to read its usage alone; returns NULL if there is none.
 */
struct card *card_look(uint32_t index);

uint64_t card_memory(const struct card *card);
uint64_t card_free_memory(struct card *card);

/** Fills in the use of each process; returns how many processes there are. */
uint32_t card_usage(struct card *card, struct card_usage usage[MAX_PROCESSES]);

/** Takes blocks of memory; false, with none taken, if there are not so many. */
bool card_take(struct card *card, uint32_t count, uint32_t *blocks);

void card_give(struct card *card, uint32_t count, const uint32_t *blocks);

/** The file in which blocks lie, and where a block begins in it. */
int card_file(const struct card *card);
int64_t card_offset(const struct card *card, uint32_t block);

/**
 * Asks for the card, for kernels that were ready then. The segments tell when it is given: perhaps from a
 * time that is over, where its holder learns late that it had nothing more to do.
 */
void card_ask(struct card *card, uint64_t ready);

/** Gives it to others, as there was no kernel any more from then on. */
void card_idle(struct card *card, uint64_t since);

/** The segment that begins at a time, cut off at another time, which has passed. */
struct segment card_segment(struct card *card, uint64_t from, uint64_t until);

/** Returns whether another process asks for the card. */
bool card_is_wanted(struct card *card);

/** When the card may be given to another process: the end of the slice. */
uint64_t card_slice_end(struct card *card);

/** Time of a copy engine, from when it is ready; returns when the copy ends. */
uint64_t card_copy(struct card *card, enum copy_engine engine, uint64_t ready, uint64_t nanos);

/** Counts time in which a kernel of this process ran. */
void card_count(struct card *card, uint64_t computeNanos);

/** Sleeps until a time, or until somebody wakes this process's waiters on the card. */
uint32_t card_wake_count(const struct card *card);
void card_sleep(struct card *card, uint32_t wakeCount, uint64_t until);
void card_wake(struct card *card);
