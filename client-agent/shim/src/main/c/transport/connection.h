// SPDX-License-Identifier: Apache-2.0
// A connection: the call stream to one server, with what is on its way in both directions. A session has one, or
// several if its lease has GPUs of several servers. A context belongs to one connection. The upper bits of its number
// name the connection, so that every frame finds its stream; the server gets the lower bits.
#pragma once

#include "core/driver.h"
#include "core/lock.h"
#include "rings/byte_ring.h"
#include "seal/record.h"
#include "transport/agent.h"
#include "transport/spin.h"

enum {
  CONNECTION_SHIFT = 12,
  CONNECTION_CONTEXTS = 1 << CONNECTION_SHIFT,  // numbers of contexts on one connection; 0: no context
};

enum { RING_BYTES = 8 << 20 };

/**
 * Places in the ring count bytes since the session began; a frame never wraps: where it would, the rest of the
 * lap is skipped. freed <= tail <= head <= freed + RING_BYTES, so at most one skip lies between them.
 */
struct ring {
  // Appending
  struct lock lock __attribute__((aligned(64)));
  uint8_t *bytes;
  uint64_t begun, end;  // the frame being appended
  uint64_t head;        // where the next frame goes
  uint64_t freedSeen;   // some earlier value of freed
  _Atomic uint32_t unattended;  // frames since a thread waited last that were posted while the writer slept
  _Atomic uint32_t sleepers;    // first ones of these, in a row, that found a worker in shared memory asleep
  _Atomic uint32_t left;        // frames that were left to a writer that dozes
  // Between appending and writing
  _Atomic uint64_t published __attribute__((aligned(64)));  // what may be written: follows head
  _Atomic uint64_t skipFrom;                                // where the latest skip begins
  _Atomic uint64_t wanted;                                  // what somebody waits to see written
  // Writing
  struct lock role __attribute__((aligned(64)));  // held by the thread that writes to the socket
  _Atomic uint64_t tail;   // what has been written, or recorded to be written
  _Atomic uint64_t freed;  // what is not needed any longer: the tail, or what the worker has acknowledged
  _Atomic uint64_t lastSendNanos;
  _Atomic uint32_t room;         // futex: changes when room was made
  _Atomic uint32_t roomWanted;   // somebody sleeps on it
};

enum {
  RETAINED_SEGMENTS = 1024,
  BULK_HEAD_BYTES = 128,  // of a frame whose last field is sent from where it lies
};

struct loan;

/** A part of a stream's requests: a range of the ring, or a frame whose last field lies elsewhere. */
struct segment {
  uint64_t position, bytes;  // in the stream
  uint64_t place;            // in the ring, of a range
  uint32_t headBytes;        // 0: a range
  uint32_t dataBytes;
  const uint8_t *data;
  struct loan *loan;  // of the field's memory; NULL: it stays as it is until the frame is acknowledged
  int block;          // of the stash that holds the field; -1: none
  bool unreadable;    // part of the field
  uint8_t head[BULK_HEAD_BYTES];
};

/** The requests of a stream that can be resumed which the worker has not acknowledged, in order. */
struct retained {
  struct lock lock;  // of the queue
  struct segment *segments;
  uint32_t first, count;
  uint32_t frames;         // among them, that are no ranges
  _Atomic uint64_t begin;  // position of the first byte: what was acknowledged
  uint64_t end;            // position after the last one
  // Of the thread that writes:
  uint64_t written;      // position of what goes to the socket next
  uint8_t control[24];   // the frame that goes before, of which there is
  uint32_t controlLeft;  // so much to write
};

/** The acknowledgement of answers that is to be sent next. */
struct acknowledgement {
  _Atomic uint64_t received;
  _Atomic bool wanted;  // of requests, in return
  _Atomic bool due;
  uint64_t askedAfter;  // what was acknowledged when one was wanted last
};

enum cut_state { CUT_NONE, CUT_NOW, CUT_LOST };

/** The resumption of a connection's session: window, names and key, and the cut that it recovers from, if there is one. */
struct cut {
  uint32_t windowSeconds;  // 0: the session ends with its connection
  _Atomic uint32_t state;  // futex: enum cut_state
  _Atomic uint32_t waiting;  // threads of the program that wait for its end
  uint64_t sinceNanos;
  uint64_t suspendedNanos;  // of the time since then, for which the session was suspended
  uint64_t burstNanos;  // when the first of the latest cuts was
  uint32_t burst;       // their number
  char cause[128];
  char server[256], session[64], key[80];
  _Atomic int agent, stream;  // descriptors of an attempt to resume; -1: none
};

enum writer_state { WRITER_ABSENT, WRITER_ASLEEP, WRITER_DOZING, WRITER_AWAKE, WRITER_IMPOSSIBLE };

/** The thread that sends what has gathered in the ring. */
struct writer {
  _Atomic uint32_t state;  // futex: enum writer_state
  struct lock starting;
};

enum call_kind {
  CALL_FENCED,   // a thread waits for the answer
  CALL_COPY,     // a posted copy to page-locked memory: nobody waits
  CALL_WATCHER,  // a thread waits for something else that comes on the stream
};

/** The layout of a host copy in memory whose rows are not one after the other. */
struct rows {
  uint64_t rowBytes;  // 0: one after the other
  uint64_t pitch, rowsPerSlice, slicePitch;
  uint64_t packedBytes;  // all rows together
};

struct call {
  struct connection *connection;
  uint32_t tag;
  _Atomic uint32_t word;  // futex: enum call_word
  uint8_t kind;
  bool take;        // in: keep the whole payload, in memory of its own
  bool shortReply;  // the payload was shorter than it must be
  bool faulted;     // the destination could not be written
  CUresult result;
  void *reply;  // in: where the payload goes, unless taken
  uint32_t replyCapacity;
  uint32_t replyBytes;  // out: how much of it there is
  void *payload;        // out: what was taken; the caller frees it
  uint8_t *destination;  // in: where the bytes of a host copy go
  uint64_t destinationBytes;  // from the first to the last
  struct rows rows;
  uint64_t receivedBytes;
  uint64_t touchedBytes;  // of the destination, by touch_ahead
  struct call *nextInBucket;
  struct call *earlier, *later;  // among all
};

enum {
  CONNECTION_TEXT_BYTES = 1024,
  CALL_BUCKETS = 256,
};

/** The calls that are not answered yet. */
struct call_table {
  struct lock lock;
  uint32_t lastTag;
  _Atomic uint32_t copies;  // of kind CALL_COPY
  struct call *first;
  struct call *buckets[CALL_BUCKETS];
};

/** The state of reading; it belongs to the thread that holds the role. */
struct reader {
  struct lock role __attribute__((aligned(64)));
  uint8_t *buffer;
  uint32_t begin, end;  // what of it has been received and not looked at
  uint64_t received;      // bytes of all frames but those that are no part of the stream's positions
  uint64_t acknowledged;  // what of them the worker was told, or is about to be
  int wakesFor;           // bytes that the socket gathers before it wakes a thread; 0: as many as a new one, 1

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

  struct spin spin;  // before its waits sleep

  uint8_t *welcome;  // the payload of WELCOME, until somebody fetches it
  uint32_t welcomeBytes;
  bool welcomed;
};

/**
 * The seal of a connection, whose stream then carries records. What is retained is not sealed: a later connection has
 * other keys.
 */
struct seal {
  bool on;
  // Of the thread that writes:
  struct seal_direction sealing;
  uint8_t *outgoing;     // records on their way
  uint32_t sent, ready;  // what of them has been written, and the end
  // Of the thread that reads:
  struct seal_direction opening;
  uint8_t *incoming;
  uint32_t part;  // bytes of a record that is still to come
};

/** The memory that a connection shares with its worker, if they are on one machine. */
struct shared {
  bool on;
  int file;
  uint8_t *memory;
  struct byte_ring requests;  // of the thread that writes
  struct byte_ring answers;   // of the thread that reads
  _Atomic bool look;          // at the socket, by the next receipt
};

struct connection {
  struct ring ring;
  struct writer writer __attribute__((aligned(64)));
  struct call_table calls __attribute__((aligned(64)));
  struct reader reader;
  struct retained retained __attribute__((aligned(64)));
  struct acknowledgement acknowledgement;
  struct cut cut;
  struct seal seal;
  struct shared shared;
  int stream;  // descriptor of the call stream
};

extern struct connection connections[MAX_CONNECTIONS];

/** The number of connections; 1 until a session has begun. */
extern uint32_t connectionCount;

/** The connection of a context, or of none: then only the upper bits of its number are set. */
static inline struct connection *connection_of(uint16_t context) { return &connections[context >> CONNECTION_SHIFT]; }

/** Returns whether memory is the shim's own, and so can be read. */
static inline bool connection_owns(const struct connection *connection, const void *address) {
  uintptr_t at = (uintptr_t)address, ring = (uintptr_t)connection->ring.bytes, own = (uintptr_t)connections;
  return at - ring < RING_BYTES || at - own < sizeof connections;
}

/** Returns whether the session on a connection outlives it. */
static inline bool connection_resumable(const struct connection *connection) {
  return connection->cut.windowSeconds != 0;
}

/** The number that stands for no context in calls of a connection. */
static inline uint16_t connection_no_context(uint32_t connection) { return (uint16_t)(connection << CONNECTION_SHIFT); }

/** The number of a context as its server knows it. */
static inline uint16_t connection_context(uint16_t context) { return context & (CONNECTION_CONTEXTS - 1); }

static inline bool connection_same(uint16_t context, uint16_t other) {
  return (context ^ other) < CONNECTION_CONTEXTS;
}

/** Wakes the threads that wait for room in the ring, or for acknowledgements. */
void connection_room_made(struct connection *connection);

/** Forgets all that is under way on all connections, in a forked child. */
void connections_reset(void);
