// SPDX-License-Identifier: Apache-2.0
#include "transport/connection.h"

#include "transport/session.h"

#include <poll.h>
#include <string.h>

enum { OTHERS_READ_MILLIS = 10 };

struct link links[MAX_LINKS];
uint32_t linkCount = 1;

static bool somebody_reads(const struct link *link) {
  return __atomic_load_n(&link->reader.role.word, __ATOMIC_RELAXED) != 0;
}

/** Takes what has come on a link, if nobody else does. */
static void take_for_others(struct link *link) {
  if (!replies_begin(link)) return;
  replies_take(link);
  replies_end(link);
}

short link_poll(struct link *link, short events) {
  struct pollfd pollers[MAX_LINKS] = {{link->stream, events, 0}};
  struct link *others[MAX_LINKS];
  nfds_t count = 1;
  // Whoever reads a link now may stop to; and while a session begins, patience has an end.
  bool forEver = events & POLLIN && session_ready();
  for (uint32_t i = 0; i < linkCount; i++) {
    struct link *other = &links[i];
    if (other == link) continue;
    if (somebody_reads(other)) {
      forEver = false;
    } else {
      others[count] = other;
      pollers[count++] = (struct pollfd){other->stream, POLLIN, 0};
    }
  }
  if (poll(pollers, count, forEver ? -1 : OTHERS_READ_MILLIS) <= 0) return 0;
  for (nfds_t i = 1; i < count; i++) {
    if (pollers[i].revents) take_for_others(others[i]);
  }
  return pollers[0].revents;
}

void links_flush(void) {
  for (uint32_t i = 0; i < linkCount; i++) ring_flush(&links[i]);
}

static void reset(struct link *link) {
  uint8_t *ringBytes = link->ring.bytes, *readBytes = link->reader.buffer;
  memset(link, 0, sizeof *link);
  link->ring.bytes = ringBytes;
  link->ring.skipFrom = UINT64_MAX;
  link->reader.buffer = readBytes;
}

void links_reset(void) {
  for (uint32_t i = 0; i < MAX_LINKS; i++) reset(&links[i]);
  linkCount = 1;
}
