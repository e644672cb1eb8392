// SPDX-License-Identifier: Apache-2.0
#include "transport/ring.h"

#include "core/log.h"
#include "transport/sender.h"
#include "transport/session_state.h"
#include "transport/writer.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum {
  SILENCE_NANOS = 200000,      // after this long the next frame leaves at once
  GATHERED_BYTES = 256 << 10,  // more than this is not left to the writer thread
  BIG_FRAME_BYTES = 4096,      // only such frames are asked how much has gathered
  FEW_SLEEPERS = 4,            // so often in a row, a worker that sleeps is woken for a first frame
  FEW_FRAMES = 8,              // between waits, which are sent one by one where that is cheap
};

bool ring_open(struct connection *connection) {
  struct ring *ring = &connection->ring;
  if (ring->bytes) return true;
  void *bytes = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return false;
  ring->bytes = bytes;
  ring->skipFrom = UINT64_MAX;
  return true;
}

uint64_t *ring_begin(struct connection *connection, uint32_t bytes) {
  struct ring *ring = &connection->ring;
  lock_take(&ring->lock);
  for (;;) {
    if (UNLIKELY(!session_alive())) {
      lock_release(&ring->lock);
      return NULL;
    }
    uint64_t lapLeft = RING_BYTES - ring->head % RING_BYTES;
    uint64_t begin = bytes <= lapLeft ? ring->head : ring->head + lapLeft;
    if (LIKELY(begin + bytes <= ring->freedSeen + RING_BYTES)) {
      ring->begun = begin;
      ring->end = begin + bytes;
      return (uint64_t *)(void *)(ring->bytes + begin % RING_BYTES);
    }
    uint64_t freed = atomic_load_explicit(&ring->freed, memory_order_acquire);
    if (freed != ring->freedSeen) {
      ring->freedSeen = freed;
      continue;
    }
    lock_release(&ring->lock);
    sender_make_room(connection, freed);
    lock_take(&ring->lock);
  }
}

/** Lets the writer see the frame begun. The ring stays locked. */
static void publish(struct connection *connection) {
  struct ring *ring = &connection->ring;
  if (ring->begun != ring->head) atomic_store_explicit(&ring->skipFrom, ring->head, memory_order_relaxed);
  ring->head = ring->end;
  atomic_store_explicit(&ring->published, ring->end, memory_order_release);
}

/**
 * Sends to a worker in shared memory that is awake, which takes no system call. One that often sleeps is better woken
 * once, by what is waited for. If it seldom does, waking it disturbs less than waking the writer thread.
 *
 * @param first whether no frame was posted since a thread waited last
 * @return whether the frame has been sent
 */
static bool post_shared(struct connection *connection, bool first) {
  struct ring *ring = &connection->ring;
  if (sender_shared(connection)) {
    if (first) atomic_store_explicit(&ring->sleepers, 0, memory_order_relaxed);
    return true;
  }
  if (!first || writer_dozing(&connection->writer)) return false;
  if (atomic_fetch_add_explicit(&ring->sleepers, 1, memory_order_relaxed) >= FEW_SLEEPERS) return false;
  sender_flush(connection);
  return true;
}

/**
 * The writer thread sleeps: send at once after a silence, else wake it, unless it will soon look by itself.
 *
 * @param begun where the frame begins
 */
static void post_unattended(struct connection *connection, uint64_t begun) {
  struct ring *ring = &connection->ring;
  uint32_t before = atomic_fetch_add_explicit(&ring->unattended, 1, memory_order_relaxed);
  if (connection->shared.on && before < FEW_FRAMES && post_shared(connection, before == 0)) return;
  bool alone = begun <= atomic_load_explicit(&ring->tail, memory_order_relaxed);
  uint64_t now = now_nanos();
  if (now - atomic_load_explicit(&ring->lastSendNanos, memory_order_relaxed) > SILENCE_NANOS) {
    sender_flush(connection);
  } else if (alone && writer_dozing(&connection->writer)) {
    atomic_fetch_add_explicit(&ring->left, 1, memory_order_relaxed);
  } else if (!writer_wake(connection)) {
    sender_flush(connection);
  }
}

CUresult ring_post(struct connection *connection) {
  struct ring *ring = &connection->ring;
  uint64_t begun = ring->begun, end = ring->end;
  publish(connection);
  lock_release(&ring->lock);
  if (UNLIKELY(!writer_awake(&connection->writer))) {
    post_unattended(connection, begun);
  } else if (UNLIKELY(end - begun >= BIG_FRAME_BYTES) &&
             end - atomic_load_explicit(&ring->tail, memory_order_relaxed) > GATHERED_BYTES) {
    sender_drain(connection);
  }
  return CUDA_SUCCESS;
}

void ring_post_now(struct connection *connection) {
  struct ring *ring = &connection->ring;
  publish(connection);
  atomic_store_explicit(&ring->unattended, 0, memory_order_relaxed);
  atomic_store(&ring->wanted, ring->end);
  lock_release(&ring->lock);
  sender_drain(connection);
}
