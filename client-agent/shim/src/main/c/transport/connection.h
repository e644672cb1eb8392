// SPDX-License-Identifier: Apache-2.0
// A connection: the call stream to one server, with what is on its way in both directions. A session has one; it has
// several where its lease has GPUs of several servers. Contexts, and what belongs to them, are of one connection, which the
// upper bits of a context's number tell, so that every frame finds its stream; the server gets the lower ones.
#pragma once

#include "transport/calls.h"
#include "transport/ring_internal.h"

enum {
  MAX_CONNECTIONS = 16,
  CONNECTION_SHIFT = 12,
  CONNECTION_CONTEXTS = 1 << CONNECTION_SHIFT,  // numbers of contexts on one connection; 0: no context
};

enum {
  CONNECTION_TEXT_BYTES = 1024,
  CALL_BUCKETS = 256,
};

/** The calls that are not answered yet. */
struct call_table {
  struct lock lock;
  uint32_t lastTag;
  uint32_t copies;  // of kind CALL_COPY
  struct call *first;
  struct call *buckets[CALL_BUCKETS];
};

struct answer_header {
  uint32_t length;
  uint16_t kind;
  uint16_t zero;
  uint32_t tag;
  int32_t result;
};

/** The state of reading; belongs to whoever holds the role. */
struct reader {
  struct lock role __attribute__((aligned(64)));
  uint8_t *buffer;
  uint32_t begin, end;  // what of it has been received and not looked at

  // A payload on its way: first `left` bytes into the sink, then `rest` bytes of further rows, then
  // `skip` bytes to nowhere.
  struct answer_header header;
  int sink;  // enum sink of replies.c
  uint8_t *to;
  uint64_t left, skip;
  uint64_t offset, rest;  // of a copy of rows: the next row's place in the copy, the bytes from there on
  bool underWay;
  struct call *call;  // whose it is
  uint8_t text[CONNECTION_TEXT_BYTES + 1];

  uint8_t *welcome;  // the payload of WELCOME, until somebody fetches it
  uint32_t welcomeBytes;
  bool welcomed;
};

struct connection {
  struct ring ring;
  struct writer writer __attribute__((aligned(64)));
  struct call_table calls __attribute__((aligned(64)));
  struct reader reader;
  int stream;  // descriptor of the call stream
};

extern struct connection connections[MAX_CONNECTIONS];

/** How many there are; 1 until a session has begun. */
extern uint32_t connectionCount;

/** The connection of a context, or of none: then only the upper bits of its number are set. */
static inline struct connection *connection_of(uint16_t context) { return &connections[context >> CONNECTION_SHIFT]; }

/** What stands for no context in calls of a connection. */
static inline uint16_t connection_no_context(uint32_t connection) { return (uint16_t)(connection << CONNECTION_SHIFT); }

/** The number of a context as its server knows it. */
static inline uint16_t connection_context(uint16_t context) { return context & (CONNECTION_CONTEXTS - 1); }

static inline bool connection_same(uint16_t context, uint16_t other) {
  return (context ^ other) < CONNECTION_CONTEXTS;
}

/**
 * Waits until a connection's stream is ready for some of these poll events, which it answers, or returns early. With POLLIN
 * the reading is the caller's. Answers on other connections that nobody reads are taken meanwhile: what this server
 * waits for may have to come from one that cannot go on before its answers are read.
 */
short connection_poll(struct connection *connection, short events);

/** Sends all that has gathered on all connections. */
void connections_flush(void);

/** Forgets all that is under way on all connections, in a forked child. */
void connections_reset(void);
