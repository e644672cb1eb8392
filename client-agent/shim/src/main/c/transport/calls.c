// SPDX-License-Identifier: Apache-2.0
#include "transport/calls.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static void insert(struct connection *connection, struct call *call) {
  struct call_table *calls = &connection->calls;
  call->connection = connection;
  lock_take(&calls->lock);
  call->tag = ++calls->lastTag;
  struct call **bucket = &calls->buckets[call->tag % CALL_BUCKETS];
  call->nextInBucket = *bucket;
  *bucket = call;
  call->earlier = NULL;
  call->later = calls->first;
  if (calls->first) calls->first->earlier = call;
  calls->first = call;
  if (call->kind == CALL_COPY) atomic_fetch_add_explicit(&calls->copies, 1, memory_order_relaxed);
  lock_release(&calls->lock);
}

/** The table is locked. */
static void unlink_call(struct call *call) {
  struct call_table *calls = &call->connection->calls;
  struct call **at = &calls->buckets[call->tag % CALL_BUCKETS];
  while (*at != call) at = &(*at)->nextInBucket;
  *at = call->nextInBucket;
  if (call->earlier) {
    call->earlier->later = call->later;
  } else {
    calls->first = call->later;
  }
  if (call->later) call->later->earlier = call->earlier;
  if (call->kind == CALL_COPY) atomic_fetch_sub_explicit(&calls->copies, 1, memory_order_relaxed);
}

/** The table is locked; a fenced call's memory may be gone after this. */
static void finish(struct call *call, CUresult result) {
  unlink_call(call);
  if (call->kind == CALL_COPY) {
    free(call);
    return;
  }
  call->result = result;
  if (atomic_exchange(&call->word, WORD_DONE) == WORD_ASLEEP) {
    futex_wake(&call->word, 1);
  }
}

void call_open(struct connection *connection, struct call *call) { insert(connection, call); }

void call_tell(struct call *watcher) {
  struct call_table *calls = &watcher->connection->calls;
  lock_take(&calls->lock);
  if (atomic_load(&watcher->word) != WORD_DONE) finish(watcher, CUDA_SUCCESS);
  lock_release(&calls->lock);
}

struct call *copy_open_rows(struct connection *connection, void *destination, uint64_t spanBytes,
                            const struct rows *rows) {
  struct call *copy = calloc(1, sizeof *copy);
  if (!copy) return NULL;
  copy->kind = CALL_COPY;
  copy->destination = destination;
  copy->destinationBytes = spanBytes;
  copy->rows = *rows;
  insert(connection, copy);
  return copy;
}

struct call *copy_open(struct connection *connection, void *destination, uint64_t bytes) {
  return copy_open_rows(connection, destination, bytes, &(struct rows){0});
}

static bool copies_pending_on(struct call_table *calls, const void *begin, uint64_t bytes) {
  if (!atomic_load_explicit(&calls->copies, memory_order_relaxed)) return false;
  const uint8_t *from = begin;
  bool pending = false;
  lock_take(&calls->lock);
  for (struct call *call = calls->first; call && !pending; call = call->later) {
    pending = call->kind == CALL_COPY && call->destination < from + bytes &&
              from < call->destination + call->destinationBytes;
  }
  lock_release(&calls->lock);
  return pending;
}

bool copies_pending(const void *begin, uint64_t bytes) {
  for (uint32_t i = 0; i < connectionCount; i++) {
    if (copies_pending_on(&connections[i].calls, begin, bytes)) return true;
  }
  return false;
}

struct call *calls_find(struct connection *connection, uint32_t tag) {
  struct call_table *calls = &connection->calls;
  lock_take(&calls->lock);
  struct call *call = calls->buckets[tag % CALL_BUCKETS];
  while (call && call->tag != tag) call = call->nextInBucket;
  lock_release(&calls->lock);
  return call;
}

void calls_finish(struct call *call, CUresult result) {
  struct call_table *calls = &call->connection->calls;
  lock_take(&calls->lock);
  finish(call, result);
  lock_release(&calls->lock);
}

void calls_fail(struct connection *connection, CUresult result) {
  struct call_table *calls = &connection->calls;
  lock_take(&calls->lock);
  for (struct call *call = calls->first, *later; call; call = later) {
    later = call->later;
    finish(call, result);
  }
  lock_release(&calls->lock);
}

void calls_appoint(struct connection *connection) {
  struct call_table *calls = &connection->calls;
  lock_take(&calls->lock);
  for (struct call *call = calls->first; call; call = call->later) {
    if (call->kind == CALL_COPY) continue;
    uint32_t word = atomic_load(&call->word);
    while (word == WORD_IDLE || word == WORD_ASLEEP) {
      if (atomic_compare_exchange_strong(&call->word, &word, WORD_LEAD)) {
        if (word == WORD_ASLEEP) futex_wake(&call->word, 1);
        word = WORD_LEAD;
      }
    }
    break;  // that one has been told, now or before
  }
  lock_release(&calls->lock);
}
