// SPDX-License-Identifier: Apache-2.0
// The other end of a call stream as tests have it: frames in, answers out.
#pragma once

#include "ops.h"
#include "transport/text_message.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  PEER_ATTRIBUTES = 148,
  PEER_MAX_FUNCTIONS = 4096,
};

/** Added to addresses of host memory, since device memory has places where the program has nothing. */
#define PEER_DEVICE (1ull << 47)

static inline uint64_t peer_given(const void *host) { return (uintptr_t)host + PEER_DEVICE; }

static inline void *peer_host(uint64_t address) { return (void *)(uintptr_t)(address & (PEER_DEVICE - 1)); }

struct frame {
  uint32_t length;
  uint16_t op, ctx;
  uint64_t slot[];  // fenced ops: the tag first
};

struct peer;

/** The state of a session that outlives its connection; see peer_resume.h. */
struct peer_resuming;

/** One worker. */
struct peer_session {
  struct peer_resuming *resuming;  // NULL: nothing
  struct peer *peer;
  int stream, agent;
  uint32_t connection;
  uint64_t frames, launches;
  char functions[PEER_MAX_FUNCTIONS];  // what kernel a function's number stands for
};

struct peer {
  int listener;
  char name[64];
  /** Takes a frame over: true if it did. Runs on the worker's thread. */
  bool (*handler)(struct peer_session *session, const struct frame *frame);
  /** Sends something else in place of WELCOME. */
  void (*welcome)(struct peer_session *session);
  const char *refusal;  // what the agent answers instead: the lines of its message
  bool relay;
  uint32_t connections;  // how many workers a program gets; 0 is 1
  uint32_t resumeWindow;  // seconds; 0: sessions end with their connections
  const char *ticket;     // of a lease that the agent holds
  uint32_t digestError;
  bool allocatesAt;  // programs may place small allocations
  bool hasCollectives;  // its server carries out NCCL's calls
  _Atomic int sessions;  // accepted so far
  struct text_message asked;  // of the agent, last
  void *own;
};

/** Writes answers that may have to be written again. */
static inline void peer_write_resuming(struct peer_session *session, const void *bytes, size_t count);

static inline void peer_write(struct peer_session *session, const void *bytes, size_t count) {
  if (session->resuming) {
    peer_write_resuming(session, bytes, count);
    return;
  }
  const uint8_t *at = bytes;
  while (count) {
    ssize_t sent = send(session->stream, at, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    at += sent;
    count -= (size_t)sent;
  }
}

static inline void peer_answer(struct peer_session *session, uint16_t kind, uint32_t tag, int32_t result,
                        const void *payload, uint32_t bytes) {
  uint32_t padded = (bytes + 7) & ~7u;
  uint8_t *frame = calloc(1, 16 + padded);
  uint32_t length = 16 + padded;
  memcpy(frame, &length, 4);
  memcpy(frame + 4, &kind, 2);
  memcpy(frame + 8, &tag, 4);
  memcpy(frame + 12, &result, 4);
  if (bytes) memcpy(frame + 16, payload, bytes);
  peer_write(session, frame, length);
  free(frame);
}

static inline void peer_reply(struct peer_session *session, const struct frame *frame, int32_t result,
                       const void *payload, uint32_t bytes) {
  peer_answer(session, ANSWER_REPLY, (uint32_t)frame->slot[0], result, payload, bytes);
}

static inline void peer_data(struct peer_session *session, uint32_t tag, const uint8_t *from,
                      uint64_t bytes) {
  for (uint64_t offset = 0; offset < bytes;) {
    uint32_t part = bytes - offset < MAX_DATA_BYTES ? (uint32_t)(bytes - offset) : MAX_DATA_BYTES;
    uint32_t length = 24 + ((part + 7) & ~7u);
    uint16_t kind = ANSWER_DATA, zero = 0;
    uint8_t head[24];
    memcpy(head, &length, 4);
    memcpy(head + 4, &kind, 2);
    memcpy(head + 6, &zero, 2);
    memcpy(head + 8, &tag, 4);
    memcpy(head + 12, &part, 4);
    memcpy(head + 16, &offset, 8);
    peer_write(session, head, sizeof head);
    peer_write(session, from + offset, part);
    uint64_t padding = 0;
    peer_write(session, &padding, -part & 7);
    offset += part;
  }
  peer_answer(session, ANSWER_REPLY, tag, 0, NULL, 0);
}
