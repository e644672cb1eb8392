// SPDX-License-Identifier: Apache-2.0
#include "transport/sender.h"

#include "core/log.h"
#include "transport/cut.h"
#include "transport/loan.h"
#include "transport/reader.h"
#include "transport/retained.h"
#include "transport/room.h"
#include "transport/session_state.h"
#include "transport/stream_write.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/** A part of the ring within one lap. */
struct range_of_ring {
  uint64_t from, to;
};

/** Finds what lies in the ring between tail and end. */
static int gathered(struct connection *connection, uint64_t end, struct range_of_ring parts[2]) {
  struct ring *ring = &connection->ring;
  uint64_t from = ring->tail;
  uint64_t skip = atomic_load_explicit(&ring->skipFrom, memory_order_relaxed);
  int count = 0;
  if (skip >= from && skip < end) {
    if (skip > from) parts[count++] = (struct range_of_ring){from, skip};
    from = (skip / RING_BYTES + 1) * RING_BYTES;
  }
  uint64_t lapEnd = (from / RING_BYTES + 1) * RING_BYTES;
  if (end > lapEnd) {
    // A frame ended where the lap does: nothing was skipped.
    parts[count++] = (struct range_of_ring){from, lapEnd};
    from = lapEnd;
  }
  if (end > from) parts[count++] = (struct range_of_ring){from, end};
  return count;
}

/** A frame whose last field is sent from where it lies. */
struct bulk {
  const void *head;
  uint32_t headBytes;
  const void *data;
  uint32_t dataBytes;
};

/** Writes all that is in the ring, and then this frame, if there is one. The role is held. */
static bool write_plainly(struct connection *connection, uint64_t end, const struct bulk *bulk,
                          const struct write_manner *manner, bool *faulted) {
  static const uint64_t zero;
  struct ring *ring = &connection->ring;
  struct range_of_ring parts[3];
  struct iovec vector[6];
  int count = end > ring->tail ? gathered(connection, end, parts) : 0;
  for (int i = 0; i < count; i++) {
    vector[i] = (struct iovec){ring->bytes + parts[i].from % RING_BYTES, parts[i].to - parts[i].from};
  }
  if (bulk) {
    vector[count++] = (struct iovec){(void *)bulk->head, bulk->headBytes};
    vector[count++] = (struct iovec){(void *)bulk->data, bulk->dataBytes};
    vector[count++] = (struct iovec){(void *)&zero, -bulk->dataBytes & 7};
  }
  if (!count) return true;
  if (!stream_write(connection, vector, count, manner, faulted)) return false;
  if (end > ring->tail) {
    atomic_store(&ring->tail, end);
    atomic_store(&ring->freed, end);
    connection_room_made(connection);
  }
  atomic_store_explicit(&ring->lastSendNanos, now_nanos(), memory_order_relaxed);
  return true;
}

/** Has an acknowledgement that is due leave before the next frame. */
static void compose_acknowledgement(struct connection *connection) {
  struct retained *retained = &connection->retained;
  struct acknowledgement *acknowledgement = &connection->acknowledgement;
  bool between = !retained->controlLeft && retained->written == retained->end;
  if (!between || !atomic_exchange(&acknowledgement->due, false)) return;
  struct acknowledge_request frame = {.length = sizeof frame,
                                      .op = CONTROL_ACKNOWLEDGE,
                                      .received = atomic_load(&acknowledgement->received),
                                      .wanted = atomic_exchange(&acknowledgement->wanted, false)};
  _Static_assert(sizeof frame == sizeof retained->control, "the only such frame");
  memcpy(retained->control, &frame, sizeof frame);
  retained->controlLeft = sizeof frame;
}

/** Records what is in the ring, and then this frame, if there is one; and writes what is recorded. The role is held. */
static bool write_retained(struct connection *connection, uint64_t end, const struct bulk *bulk, struct loan *loan,
                           const struct write_manner *manner) {
  struct ring *ring = &connection->ring;
  if (atomic_load_explicit(&connection->acknowledgement.due, memory_order_relaxed)) compose_acknowledgement(connection);
  if (end > ring->tail) {
    struct range_of_ring parts[3];
    int count = gathered(connection, end, parts);
    for (int i = 0; i < count; i++) retained_add_range(connection, parts[i].from, parts[i].to);
    atomic_store(&ring->tail, end);
  }
  if (bulk) retained_add_frame(connection, bulk->head, bulk->headBytes, bulk->data, bulk->dataBytes, loan);
  bool written = stream_write_retained(connection, manner);
  atomic_store_explicit(&ring->lastSendNanos, now_nanos(), memory_order_relaxed);
  return written;
}

/** Returns whether, after the role was given up, somebody waits for a frame that nobody writes. */
static bool left_behind(struct connection *connection) {
  struct ring *ring = &connection->ring;
  bool some = atomic_load(&ring->wanted) > atomic_load(&ring->tail) || atomic_load(&connection->acknowledgement.due);
  // What resumes a connection writes what was left behind.
  return some && session_alive() && !cut_now(connection);
}

/** Reads acknowledgements in time, if nobody reads. */
static void look_for_acknowledgements(struct connection *connection) {
  struct ring *ring = &connection->ring;
  if (atomic_load(&ring->tail) - atomic_load(&ring->freed) < RING_BYTES / 2 || !reader_begin(connection)) return;
  reader_take(connection);
  reader_end(connection);
}

static void drain_held(struct connection *connection, const struct write_manner *manner) {
  uint64_t end = atomic_load_explicit(&connection->ring.published, memory_order_acquire);
  bool faulted = false;
  if (!connection_resumable(connection)) {
    write_plainly(connection, end, NULL, manner, &faulted);
  } else if (!cut_now(connection)) {
    write_retained(connection, end, NULL, NULL, manner);
    if (!manner->reading) look_for_acknowledgements(connection);
  }
}

static void drain(struct connection *connection, const struct write_manner *manner) {
  struct ring *ring = &connection->ring;
  do {
    if (!lock_try(&ring->role)) return;
    drain_held(connection, manner);
    lock_release(&ring->role);
  } while (left_behind(connection));
}

void sender_drain(struct connection *connection) { drain(connection, &(struct write_manner){0}); }

void sender_acknowledge(struct connection *connection) {
  drain(connection, &(struct write_manner){.reading = true});
}

void sender_flush(struct connection *connection) {
  struct ring *ring = &connection->ring;
  lock_take(&ring->lock);
  atomic_store(&ring->wanted, ring->head);
  lock_release(&ring->lock);
  sender_drain(connection);
}

bool sender_shared(struct connection *connection) {
  struct ring *ring = &connection->ring;
  if (!lock_try(&ring->role)) return false;
  struct shared *shared = &connection->shared;
  bool awake = !cut_now(connection) && shared->on && !byte_ring_taker_sleeps(&shared->requests);
  if (awake) drain_held(connection, &(struct write_manner){0});
  lock_release(&ring->role);
  if (left_behind(connection)) sender_drain(connection);
  return awake;
}

/** Waits for the thread that writes to make room. */
static void wait_for_writer(struct connection *connection, uint64_t freed) {
  struct ring *ring = &connection->ring;
  uint32_t seen = atomic_load(&ring->room);
  atomic_store(&ring->roomWanted, 1);
  if (atomic_load(&ring->freed) == freed && session_alive()) {
    // That thread may be done by now and have left nothing to wake us: look again soon.
    struct timespec soon = {0, 1000000};
    futex_wait(&ring->room, seen, &soon);
  }
}

void sender_make_room(struct connection *connection, uint64_t freed) {
  if (connection_resumable(connection)) {
    uint64_t acknowledged = retained_begin(connection);
    sender_flush(connection);
    if (atomic_load(&connection->ring.freed) == freed) room_wait(connection, acknowledged);
  } else if (lock_try(&connection->ring.role)) {
    drain_held(connection, &(struct write_manner){0});
    lock_release(&connection->ring.role);
    if (left_behind(connection)) sender_drain(connection);
  } else {
    wait_for_writer(connection, freed);
  }
}

/** Wakes the threads that wait for room. */
static void wake_all(void) {
  for (uint32_t i = 0; i < connectionCount; i++) {
    struct ring *ring = &connections[i].ring;
    atomic_fetch_add(&ring->room, 1);
    futex_wake(&ring->room, INT_MAX);
  }
}
ON_SESSION_LOST(wake_all);

/** The place after all frames that were appended. */
static uint64_t ring_head(struct ring *ring) {
  lock_take(&ring->lock);
  uint64_t head = ring->head;
  lock_release(&ring->lock);
  return head;
}

/** Takes the role when the connection is whole; false if the session is lost, and then without it. */
static bool take_role(struct connection *connection) {
  for (;;) {
    lock_take(&connection->ring.role);
    if (session_alive() && !cut_now(connection)) return true;
    lock_release(&connection->ring.role);
    if (!session_alive()) return false;
    cut_wait(connection);
  }
}

static void leave_role(struct connection *connection) {
  lock_release(&connection->ring.role);
  if (left_behind(connection)) sender_drain(connection);
}

/** Takes the role when a frame of so many bytes can be retained. */
static bool take_role_and_room(struct connection *connection, uint64_t bytes) {
  for (;;) {
    if (!take_role(connection)) return false;
    uint64_t acknowledged = retained_begin(connection);
    if (retained_room(connection, bytes)) return true;
    leave_role(connection);
    room_wait(connection, acknowledged);
  }
}

static bool send_retained(struct connection *connection, const struct bulk *bulk, struct loan *loan) {
  struct write_manner manner = {0};
  if (!take_role_and_room(connection, bulk->headBytes + bulk->dataBytes)) return false;
  // Nobody else can write meanwhile, so what others append now comes after.
  bool written = write_retained(connection, ring_head(&connection->ring), bulk, loan, &manner);
  uint64_t end = connection->retained.end;
  while (!written && connection->retained.written < end) {
    lock_release(&connection->ring.role);
    if (!take_role(connection)) return false;
    written = stream_write_retained(connection, &manner);
  }
  leave_role(connection);
  return true;
}

/** Sends a frame that is retained; without a loan its memory is the caller's again. */
static CUresult bulk_retained(struct connection *connection, const struct bulk *bulk) {
  struct loan *loan = loan_current(connection), own = {.connection = connection};
  struct loan *which = loan ? loan : &own;
  bool sent = send_retained(connection, bulk, which);
  if (!loan) loan_return(&own);
  if (!sent) return session_answer();
  return which->unreadable ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult sender_bulk(struct connection *connection, const void *head, uint32_t headBytes, const void *data,
                     uint64_t dataBytes) {
  struct bulk bulk = {head, headBytes, data, (uint32_t)dataBytes};
  if (connection_resumable(connection)) return bulk_retained(connection, &bulk);
  lock_take(&connection->ring.role);
  bool faulted = false;
  bool sent = session_alive() && write_plainly(connection, ring_head(&connection->ring), &bulk,
                                               &(struct write_manner){0}, &faulted);
  leave_role(connection);
  if (!sent) return session_answer();
  return faulted ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/** Takes a lock unless its holder keeps it for too long. */
static bool take_until(struct lock *lock, uint64_t untilNanos) {
  enum { PAUSE_MICROSECONDS = 1000 };
  while (!lock_try(lock)) {
    if (now_nanos() > untilNanos) return false;
    usleep(PAUSE_MICROSECONDS);
  }
  return true;
}

bool sender_last(struct connection *connection, const void *frame, uint32_t bytes, uint64_t untilNanos) {
  struct ring *ring = &connection->ring;
  struct bulk last = {frame, bytes, NULL, 0};
  if (cut_now(connection) || !take_until(&ring->role, untilNanos)) return false;
  bool sent = false;
  if (!cut_now(connection) && retained_room(connection, bytes) && take_until(&ring->lock, untilNanos)) {
    uint64_t end = ring->head;
    lock_release(&ring->lock);
    sent = write_retained(connection, end, &last, NULL, &(struct write_manner){.untilNanos = untilNanos});
  }
  lock_release(&ring->role);
  return sent;
}

void connections_flush(void) {
  for (uint32_t i = 0; i < connectionCount; i++) sender_flush(&connections[i]);
}
