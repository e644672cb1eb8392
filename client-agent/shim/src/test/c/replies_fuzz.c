// SPDX-License-Identifier: Apache-2.0
// Hostile bytes from the worker: whatever comes, the shim neither crashes nor waits, and at most ends the
// session. The reader is driven directly, so that many cases fit into a second. Every second session could be resumed.
#include "transport/calls.h"
#include "transport/reader.h"
#include "harness.h"
#include "core/log.h"
#include "transport/marshal.h"
#include "transport/retained.h"
#include "transport/session_state.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { CASES = 200000, STREAM_BYTES = 4096, COPY_BYTES = 256, REQUESTS_BYTES = 4096 };

static uint32_t acknowledged;  // sessions that took an acknowledgement

static uint64_t seed = 88172645463325252u;

static uint32_t draw(uint32_t bound) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (uint32_t)(seed >> 16) % bound;
}

static void put(uint8_t *stream, size_t *used, const void *bytes, size_t count) {
  if (*used + count > STREAM_BYTES) return;
  memcpy(stream + *used, bytes, count);
  *used += count;
}

/** An acknowledgement of requests, most of which were sent. */
static void put_acknowledgement(uint8_t *stream, size_t *used, uint64_t *position) {
  struct answer_header head = {.length = draw(32) ? 24 : 8 * draw(8), .kind = ANSWER_ACK, .tag = draw(2)};
  if (draw(16)) {
    *position += draw(REQUESTS_BYTES / 16);
  } else {
    *position = draw(2) ? draw(2 * REQUESTS_BYTES) : (uint64_t)draw(UINT32_MAX) << 32;
  }
  put(stream, used, &head, sizeof head);
  put(stream, used, position, sizeof *position);
}

/** Has the session's connection be one that can be resumed, with requests that are not acknowledged. */
static void make_resumable(void) {
  connections[0].cut.windowSeconds = 60;
  connections[0].writer.state = WRITER_IMPOSSIBLE;  // this thread is alone
  connections[0].acknowledgement.askedAfter = UINT64_MAX;
  CHECK(retained_open(connections));
  retained_add_range(connections, 0, REQUESTS_BYTES);
  connections[0].retained.written = REQUESTS_BYTES;
  connections[0].ring.head = connections[0].ring.published = connections[0].ring.tail = REQUESTS_BYTES;
}

/** A frame that is mostly well-formed. */
static void put_frame(uint8_t *stream, size_t *used, uint32_t firstTag) {
  uint32_t payload = draw(4) ? 8 * draw(8) : 8 * draw(64);
  uint32_t head[4] = {16 + payload, draw(8), firstTag + draw(6), draw(3) ? draw(64) : 0};
  if (head[1] == 2 && draw(4)) head[0] = 24 + ((head[3] + 7) & ~7u);
  switch (draw(24)) {
    case 0:
      head[0] = draw(64);
      break;
    case 1:
      head[0] = 0xfffffff8u;
      break;
    case 2:
      head[0] = MAX_FRAME_BYTES + 8 * draw(2);
      break;
    case 3:
      head[3] = 0x80000000u + draw(1000);
      break;
    case 4:
      head[1] = draw(0x10000) | draw(0x10000) << 16;
      break;
    case 5:
      head[2] = draw(UINT32_MAX);
      break;
  }
  put(stream, used, head, sizeof head);
  for (uint32_t at = 16; at < head[0] && at < 600; at += 8) {
    uint64_t word = draw(3) ? draw(300) : (uint64_t)draw(UINT32_MAX) << 32;
    put(stream, used, &word, sizeof word);
  }
}

/** Takes what is in the socket. */
static void take(void) {
  CHECK(reader_begin(connections));
  reader_take(connections);
  reader_end(connections);
}

/** Composes what the worker of one session sends; returns its length. */
static size_t compose(uint8_t *stream, uint32_t firstTag, bool resumable) {
  size_t used = 0;
  uint64_t position = 0;
  if (draw(8) == 0) {
    for (uint32_t i = 0; i < 64; i++) put(stream, &used, &(uint8_t){(uint8_t)draw(256)}, 1);
  }
  for (uint32_t frames = 1 + draw(12); frames; frames--) {
    if (resumable && draw(3) == 0) {
      put_acknowledgement(stream, &used, &position);
    } else {
      put_frame(stream, &used, firstTag);
    }
  }
  return used;
}

int main(void) {
  struct rlimit memory = {1ull << 30, 1ull << 30};
  setrlimit(RLIMIT_AS, &memory);
  if (!freopen("/dev/null", "w", stdout)) return 1;
  logLevel = -1;
  CHECK(ring_open(connections) && reader_open(connections));
  static uint8_t stream[STREAM_BYTES], destination[COPY_BYTES + 64], pinned[COPY_BYTES + 64];
  for (uint32_t round = 0; round < CASES; round++) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    session = (struct session){.state = SESSION_READY, .agent = pair[0]};
    connections[0].stream = pair[0];
    uint64_t reply[2];
    struct call fixed = {.reply = reply, .replyCapacity = sizeof reply};
    struct call taken = {.take = true};
    struct call copied = {.destination = destination, .destinationBytes = COPY_BYTES};
    struct call watcher = {.kind = CALL_WATCHER};
    call_open(connections, &fixed);
    call_open(connections, &taken);
    call_open(connections, &copied);
    call_open(connections, &watcher);
    CHECK(copy_open(connections, pinned, COPY_BYTES) != NULL);
    bool resumable = round % 2;
    if (resumable) make_resumable();
    size_t used = compose(stream, fixed.tag, resumable);
    for (size_t sent = 0; sent < used && session_alive();) {
      size_t part = 1 + draw((uint32_t)(used - sent));
      CHECK(send(pair[1], stream + sent, part, MSG_NOSIGNAL) == (ssize_t)part);
      sent += part;
      take();
    }
    if (resumable) {
      acknowledged += retained_begin(connections) > 0;
      // Its end would be a cut.
      session_lose(CUDA_ERROR_DEVICE_UNAVAILABLE, "the case is over");
      calls_fail(connections, session_answer());
    }
    close(pair[1]);
    while (session_alive()) take();
    struct call *calls[] = {&fixed, &taken, &copied, &watcher};
    for (int i = 0; i < 4; i++) call_await(calls[i]);
    struct variable first = {.capacity = 100}, second = {.capacity = 100};
    uint32_t at = 0;
    reply_variable(&taken, &at, &first);
    reply_variable(&taken, &at, &second);
    for (uint64_t i = 0; i < first.length; i++) seed += first.data[i];
    for (uint64_t i = 0; i < second.length; i++) seed += second.data[i];
    free(taken.payload);
    for (int i = 0; i < 64; i++) CHECK(!destination[COPY_BYTES + i] && !pinned[COPY_BYTES + i]);
    close(pair[0]);
    connections_reset();
  }
  CHECK(acknowledged > CASES / 10);
  return 0;
}
