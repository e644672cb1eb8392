// SPDX-License-Identifier: Apache-2.0
#include "transport/retained.h"

#include "transport/stash.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum {
  // Ranges that follow each other are one, but for those around a skip: their number follows that of the frames.
  MOST_FRAMES = RETAINED_SEGMENTS / 2 - 4,
  BUFFERS_OF_SEGMENT = 3,
};

/** Less than the protocol allows, because the ring may add to it. */
#define MOST_BYTES ((uint64_t)MAX_RETAINED_BYTES - RING_BYTES)

bool retained_open(struct connection *connection) {
  struct retained *retained = &connection->retained;
  if (retained->segments) return true;
  void *segments = mmap(NULL, RETAINED_SEGMENTS * sizeof *retained->segments, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (segments == MAP_FAILED) return false;
  retained->segments = segments;
  return true;
}

/** The segment at a place in the queue. */
static struct segment *segment_at(struct retained *retained, uint32_t place) {
  return &retained->segments[(retained->first + place) % RETAINED_SEGMENTS];
}

bool retained_room(struct connection *connection, uint64_t bytes) {
  struct retained *retained = &connection->retained;
  lock_take(&retained->lock);
  bool room = retained->frames < MOST_FRAMES &&
              retained->end - atomic_load(&retained->begin) + bytes <= MOST_BYTES;
  lock_release(&retained->lock);
  return room;
}

uint64_t retained_bytes(struct connection *connection) {
  struct retained *retained = &connection->retained;
  lock_take(&retained->lock);
  uint64_t bytes = retained->end - atomic_load(&retained->begin);
  lock_release(&retained->lock);
  return bytes;
}

/** Adds a segment; the queue is locked. */
static struct segment *add(struct retained *retained, uint64_t bytes) {
  struct segment *segment = segment_at(retained, retained->count++);
  segment->position = retained->end;
  segment->bytes = bytes;
  segment->headBytes = 0;
  segment->dataBytes = 0;
  segment->loan = NULL;
  segment->block = -1;
  segment->unreadable = false;
  retained->end += bytes;
  return segment;
}

void retained_add_range(struct connection *connection, uint64_t from, uint64_t to) {
  struct retained *retained = &connection->retained;
  lock_take(&retained->lock);
  struct segment *last = retained->count ? segment_at(retained, retained->count - 1) : NULL;
  if (last && !last->headBytes && last->place + last->bytes == from && from % RING_BYTES) {
    last->bytes += to - from;
    retained->end += to - from;
  } else {
    add(retained, to - from)->place = from;
  }
  lock_release(&retained->lock);
}

void retained_add_frame(struct connection *connection, const void *head, uint32_t headBytes, const void *data,
                        uint32_t dataBytes, struct loan *loan) {
  struct retained *retained = &connection->retained;
  lock_take(&retained->lock);
  struct segment *segment = add(retained, headBytes + ((dataBytes + 7) & ~7u));
  segment->headBytes = headBytes;
  retained->frames++;
  memcpy(segment->head, head, headBytes);
  segment->data = data;
  segment->dataBytes = dataBytes;
  segment->loan = loan;
  if (loan) loan->bytes += dataBytes;
  lock_release(&retained->lock);
}

/** Adds a buffer from its byte `*offset` on; *offset becomes that of the buffer after it. */
static int put(struct iovec *vector, const uint8_t *bytes, uint64_t count, uint64_t *offset) {
  if (*offset >= count) {
    *offset -= count;
    return 0;
  }
  *vector = (struct iovec){(void *)(bytes + *offset), count - *offset};
  *offset = 0;
  return 1;
}

static int segment_vector(struct connection *connection, const struct segment *segment, uint64_t offset,
                          struct iovec *vector) {
  static const uint8_t padding[8];
  if (!segment->headBytes) {
    return put(vector, connection->ring.bytes + segment->place % RING_BYTES, segment->bytes, &offset);
  }
  int count = put(vector, segment->head, segment->headBytes, &offset);
  count += put(vector + count, segment->data, segment->dataBytes, &offset);
  return count + put(vector + count, padding, -segment->dataBytes & 7, &offset);
}

/** The place of the segment that is written next; the queue is locked, and there is one. */
static uint32_t place_unwritten(struct retained *retained) {
  uint32_t place = retained->count - 1;
  while (place && segment_at(retained, place)->position > retained->written) place--;
  return place;
}

int retained_unwritten(struct connection *connection, struct iovec *vector, int most) {
  struct retained *retained = &connection->retained;
  int count = 0;
  if (retained->controlLeft) {
    const uint8_t *rest = retained->control + sizeof retained->control - retained->controlLeft;
    vector[count++] = (struct iovec){(void *)rest, retained->controlLeft};
  }
  lock_take(&retained->lock);
  if (retained->written < retained->end) {
    for (uint32_t place = place_unwritten(retained);
         place < retained->count && count + BUFFERS_OF_SEGMENT <= most; place++) {
      const struct segment *segment = segment_at(retained, place);
      uint64_t offset = retained->written > segment->position ? retained->written - segment->position : 0;
      count += segment_vector(connection, segment, offset, vector + count);
    }
  }
  lock_release(&retained->lock);
  return count;
}

void retained_wrote(struct connection *connection, uint64_t bytes) {
  struct retained *retained = &connection->retained;
  uint32_t control = bytes < retained->controlLeft ? (uint32_t)bytes : retained->controlLeft;
  retained->controlLeft -= control;
  lock_take(&retained->lock);
  retained->written += bytes - control;
  lock_release(&retained->lock);
}

void retained_unreadable(struct connection *connection) {
  struct retained *retained = &connection->retained;
  lock_take(&retained->lock);
  if (retained->written < retained->end) {
    struct segment *segment = segment_at(retained, place_unwritten(retained));
    segment->unreadable = true;
    if (segment->loan) segment->loan->unreadable = true;
  }
  lock_release(&retained->lock);
}

/** Ends what a segment has of others; the queue is locked. */
static void leave_data(struct segment *segment) {
  if (segment->loan) segment->loan->bytes -= segment->dataBytes;
  segment->loan = NULL;
  if (segment->block >= 0) stash_give(segment->block);
  segment->block = -1;
}

/** Takes what is before a position from the queue, which is locked. False: no frame ends there. */
static bool forget(struct retained *retained, uint64_t position) {
  while (retained->count) {
    struct segment *segment = segment_at(retained, 0);
    if (segment->position >= position) break;
    uint64_t bytes = position - segment->position;
    if (bytes < segment->bytes) {
      if (segment->headBytes) return false;
      segment->position += bytes;
      segment->place += bytes;
      segment->bytes -= bytes;
      break;
    }
    leave_data(segment);
    retained->frames -= segment->headBytes != 0;
    retained->first = (retained->first + 1) % RETAINED_SEGMENTS;
    retained->count--;
  }
  atomic_store(&retained->begin, position);
  return true;
}

/** The place in the ring from which on it is needed; the queue is locked. */
static uint64_t place_needed(struct connection *connection) {
  struct retained *retained = &connection->retained;
  for (uint32_t place = 0; place < retained->count; place++) {
    const struct segment *segment = segment_at(retained, place);
    if (!segment->headBytes) return segment->place;
  }
  return atomic_load(&connection->ring.tail);
}

static bool acknowledge(struct connection *connection, uint64_t position) {
  struct retained *retained = &connection->retained;
  bool possible = position >= atomic_load(&retained->begin) && position <= retained->end;
  if (!possible || !forget(retained, position)) return false;
  atomic_store(&connection->ring.freed, place_needed(connection));
  return true;
}

bool retained_acknowledge(struct connection *connection, uint64_t position) {
  struct retained *retained = &connection->retained;
  lock_take(&retained->lock);
  bool possible = acknowledge(connection, position);
  lock_release(&retained->lock);
  connection_room_made(connection);
  return possible;
}

bool retained_rewind(struct connection *connection, uint64_t position) {
  struct retained *retained = &connection->retained;
  lock_take(&retained->lock);
  bool possible = acknowledge(connection, position);
  if (possible) {
    retained->written = position;
    retained->controlLeft = 0;
  }
  lock_release(&retained->lock);
  connection_room_made(connection);
  return possible;
}

void retained_keep(struct connection *connection, struct loan *loan) {
  struct retained *retained = &connection->retained;
  lock_take(&retained->lock);
  for (uint32_t place = retained->count; place-- && loan->bytes;) {
    struct segment *segment = segment_at(retained, place);
    if (segment->loan != loan) continue;
    segment->loan = NULL;
    loan->bytes -= segment->dataBytes;
  }
  lock_release(&retained->lock);
}

/** Returns whether a segment's field lies in (part of) this memory of the program. */
static bool lies_in(const struct segment *segment, const uint8_t *begin, uint64_t bytes) {
  return segment->headBytes && segment->block < 0 && segment->data < begin + bytes &&
         begin < segment->data + segment->dataBytes;
}

uint64_t retained_overlap(struct connection *connection, const void *begin, uint64_t bytes) {
  struct retained *retained = &connection->retained;
  uint64_t overlap = 0;
  lock_take(&retained->lock);
  for (uint32_t place = 0; place < retained->count; place++) {
    const struct segment *segment = segment_at(retained, place);
    if (lies_in(segment, begin, bytes)) overlap += segment->dataBytes;
  }
  lock_release(&retained->lock);
  return overlap;
}

/** Copies a segment's field. A thread that writes may look at it only if it is not written yet. */
static bool copy_out(struct retained *retained, struct segment *segment) {
  if (segment->position + segment->bytes > retained->written) return false;
  int block = stash_take(segment->dataBytes);
  if (block < 0) return false;
  if (segment->unreadable) {
    memset(stash_bytes(block), 0, segment->dataBytes);
  } else {
    memcpy(stash_bytes(block), segment->data, segment->dataBytes);
  }
  leave_data(segment);
  segment->block = block;
  segment->data = stash_bytes(block);
  return true;
}

bool retained_copy(struct connection *connection, const struct loan *loan, const void *begin, uint64_t bytes) {
  struct retained *retained = &connection->retained;
  bool copied = false;
  lock_take(&retained->lock);
  for (uint32_t place = 0; place < retained->count; place++) {
    struct segment *segment = segment_at(retained, place);
    if (loan ? segment->loan != loan : !lies_in(segment, begin, bytes)) continue;
    copied = copy_out(retained, segment);
    break;
  }
  lock_release(&retained->lock);
  return copied;
}
