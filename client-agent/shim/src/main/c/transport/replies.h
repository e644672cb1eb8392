// SPDX-License-Identifier: Apache-2.0
// Answers: calls that wait for them, and the reading of the call stream by one of the threads that
// wait, which hands out to the others what is theirs and passes the reading on when its own has come.
#pragma once

#include "core/driver.h"
#include "core/lock.h"

struct connection;

enum call_kind {
  CALL_FENCED,   // a thread waits for the answer
  CALL_COPY,     // a posted copy to page-locked memory: nobody waits
  CALL_WATCHER,  // a thread waits for something else that comes on the stream
};

/** How the bytes of a host copy lie in memory, where not one after the other. */
struct rows {
  uint64_t rowBytes;  // 0: one after the other
  uint64_t pitch, rowsPerSlice, slicePitch;
  uint64_t packedBytes;  // all rows together
};

struct call {
  struct connection *connection;
  uint32_t tag;
  uint32_t word;  // futex: enum call_word
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
  struct call *nextInBucket;
  struct call *earlier, *later;  // among all
};

/** Gives the call a tag and takes note of it, before its frame is sent. */
void call_open(struct connection *connection, struct call *call);

/** Forgets a call that was not sent; answers what there is to say without a session. */
CUresult call_cancel(struct call *call);

/** Sends the frame begun and waits for its answer. */
CUresult call_wait(struct call *call);

/** Waits until the call's answer has come, or for a watcher until it was told. */
void call_await(struct call *call);

/** Tells a watcher that what it waits for has come. */
void call_tell(struct call *watcher);

/** Begins to read the stream if nobody does; each success needs a replies_end. */
bool replies_begin(struct connection *connection);

/** Takes what there is without waiting. */
void replies_take(struct connection *connection);

/** Passes the reading on. */
void replies_end(struct connection *connection);

/** Waits for WELCOME; the payload is the caller's to free. NULL: the session is lost. */
uint8_t *replies_welcome(struct connection *connection, uint32_t *bytes);

/** Ends every call because the session is lost; whoever reads does it if somebody does. */
void replies_lost(struct connection *connection);

/** A posted copy of bytes to page-locked memory. NULL: no memory. */
struct call *copy_open(struct connection *connection, void *destination, uint64_t bytes);

/** As copy_open, of rows; spanBytes: from the first byte to the last. */
struct call *copy_open_rows(struct connection *connection, void *destination, uint64_t spanBytes, const struct rows *rows);

/** Whether posted copies into (part of) this memory are under way. */
bool copies_pending(const void *begin, uint64_t bytes);

/** Reserves the receive buffer; false if there is no memory. */
bool replies_open(struct connection *connection);

/** Whether a worker has sent diagnostics, which say more of a refusal than its result code. */
bool replies_diagnosed(void);
