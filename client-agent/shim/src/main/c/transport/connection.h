// SPDX-License-Identifier: Apache-2.0
// A link: the call stream to one server, with what is on its way in both directions. A session has one; it has
// several where its lease has GPUs of several servers. Contexts, and what belongs to them, are of one link, which the
// upper bits of a context's number tell, so that every frame finds its stream; the server gets the lower ones.
#pragma once

#include "transport/calls.h"
#include "transport/ring_internal.h"

enum {
  MAX_LINKS = 16,
  LINK_SHIFT = 12,
  LINK_CONTEXTS = 1 << LINK_SHIFT,  // numbers of contexts on one link; 0: no context
};

enum {
  LINK_TEXT_BYTES = 1024,
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
  uint8_t text[LINK_TEXT_BYTES + 1];

  uint8_t *welcome;  // the payload of WELCOME, until somebody fetches it
  uint32_t welcomeBytes;
  bool welcomed;
};

struct link {
  struct ring ring;
  struct writer writer __attribute__((aligned(64)));
  struct call_table calls __attribute__((aligned(64)));
  struct reader reader;
  int stream;  // descriptor of the call stream
};

extern struct link links[MAX_LINKS];

/** How many there are; 1 until a session has begun. */
extern uint32_t linkCount;

/** The link of a context, or of none: then only the upper bits of its number are set. */
static inline struct link *link_of(uint16_t context) { return &links[context >> LINK_SHIFT]; }

/** What stands for no context in calls of a link. */
static inline uint16_t link_no_context(uint32_t link) { return (uint16_t)(link << LINK_SHIFT); }

/** The number of a context as its server knows it. */
static inline uint16_t link_context(uint16_t context) { return context & (LINK_CONTEXTS - 1); }

static inline bool link_same(uint16_t context, uint16_t other) {
  return (context ^ other) < LINK_CONTEXTS;
}

/**
 * Waits until a link's stream is ready for some of these poll events, which it answers, or returns early. With POLLIN
 * the reading is the caller's. Answers on other links that nobody reads are taken meanwhile: what this server
 * waits for may have to come from one that cannot go on before its answers are read.
 */
short link_poll(struct link *link, short events);

/** Sends all that has gathered on all links. */
void links_flush(void);

/** Forgets all that is under way on all links, in a forked child. */
void links_reset(void);
