// SPDX-License-Identifier: Apache-2.0
#include "transport/reader.h"

#include "core/log.h"
#include "transport/calls.h"
#include "transport/control.h"
#include "transport/receive.h"
#include "transport/session_state.h"
#include "transport/touch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { OFFSET_BYTES = 8 };

static _Atomic bool diagnosed;

HOOK_TABLE(callback, callback_hook);

/** False: there is no such callback. */
static bool callback_arrived(uint32_t number, CUresult result) {
  bool known = false;
  FOR_EACH_HOOK(callback, callback_hook, hook) known |= (*hook)(number, result);
  return known;
}

bool reader_diagnosed(void) { return atomic_load_explicit(&diagnosed, memory_order_relaxed); }

bool reader_open(struct connection *connection) {
  struct reader *reader = &connection->reader;
  if (reader->buffer) return true;
  void *buffer =
      mmap(NULL, READ_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) return false;
  reader->buffer = buffer;
  return true;
}

static void expect(struct connection *connection, enum sink sink, void *to, uint64_t bytes, uint64_t skip) {
  struct reader *reader = &connection->reader;
  reader->underWay = true;
  reader->sink = sink;
  reader->to = to;
  reader->left = bytes;
  reader->rest = 0;
  reader->skip = skip;
}

/** Turns to the next (part of a) row of the payload under way. */
static void next_row(struct connection *connection) {
  struct reader *reader = &connection->reader;
  const struct rows *rows = &reader->call->rows;
  uint64_t row = reader->offset / rows->rowBytes, x = reader->offset % rows->rowBytes;
  uint64_t length = rows->rowBytes - x;
  if (length > reader->rest) length = reader->rest;
  reader->to = reader->call->destination + row / rows->rowsPerSlice * rows->slicePitch +
              row % rows->rowsPerSlice * rows->pitch + x;
  reader->left = length;
  reader->offset += length;
  reader->rest -= length;
}

/** All of the payload has come. */
static void payload_complete(struct connection *connection) {
  struct reader *reader = &connection->reader;
  const struct answer_header *header = &reader->header;
  struct call *call = reader->call;
  reader->underWay = false;
  reader->call = NULL;
  switch (header->kind) {
    case ANSWER_WELCOME:
      reader->welcomed = true;
      break;
    case ANSWER_REPLY:
      calls_finish(call, header->result);
      break;
    case ANSWER_DATA:
      call->receivedBytes += (uint64_t)header->result;
      break;
    case ANSWER_FATAL:
      session_lose(header->result > 0 ? header->result : CUDA_ERROR_DEVICE_UNAVAILABLE,
                   (const char *)reader->text);
      break;
    default:
      break;
  }
}

static bool begin_welcome(struct connection *connection, uint64_t payload) {
  struct reader *reader = &connection->reader;
  if (reader->welcome || reader->welcomed) return false;
  reader->welcome = malloc(payload + 1);
  if (!reader->welcome) return false;
  reader->welcomeBytes = (uint32_t)payload;
  expect(connection, SINK_MEMORY, reader->welcome, payload, 0);
  return true;
}

static bool begin_reply(struct connection *connection, struct call *call, uint64_t payload) {
  if (!call || call->kind == CALL_WATCHER) return false;
  if (call->kind == CALL_COPY) {
    expect(connection, SINK_NONE, NULL, 0, payload);
    return true;
  }
  uint64_t kept = payload;
  void *to = call->reply;
  if (call->take) {
    to = call->payload = malloc(payload + 1);
    if (!to) kept = 0;
  } else if (kept > call->replyCapacity) {
    kept = call->replyCapacity;
  }
  call->replyBytes = (uint32_t)kept;
  expect(connection, SINK_MEMORY, to, kept, payload - kept);
  return true;
}

static bool begin_data(struct connection *connection, struct call *call, uint64_t offset, uint64_t payload) {
  struct reader *reader = &connection->reader;
  uint64_t bytes = (uint64_t)(int64_t)reader->header.result;
  if (!call || !call->destination || reader->header.result < 0 || ((bytes + 7) & ~7ull) != payload) {
    return false;
  }
  bool rows = call->rows.rowBytes;
  uint64_t end = rows ? call->rows.packedBytes : call->destinationBytes;
  if (offset > end || bytes > end - offset) return false;
  touch_ahead(call, offset + bytes);
  expect(connection, SINK_MEMORY, rows ? NULL : call->destination + offset, rows ? 0 : bytes, payload - bytes);
  if (!rows) return true;
  reader->offset = offset;
  reader->rest = bytes;
  if (bytes) next_row(connection);
  return true;
}

/** The sink of output: reports of faults show if the program asks for them, diagnostics unless it turns them off. */
static enum sink output_sink(uint32_t stream) {
  const char *check = getenv("GPUPOOL_SOFT_CHECK");
  switch (stream) {
    case 0:
      return SINK_STDOUT;
    case 1:
      return SINK_STDERR;
    case 2:
      return check && *check && strcmp(check, "0") != 0 ? SINK_STDERR : SINK_NONE;
    case 3:
      atomic_store_explicit(&diagnosed, true, memory_order_relaxed);
      return logLevel >= LOG_WARN ? SINK_STDERR : SINK_NONE;
    default:
      return SINK_NONE;
  }
}

/** Looks at a frame's header; its payload follows. False: it is not what a worker sends. */
static bool begin_frame(struct connection *connection, uint64_t offset) {
  struct reader *reader = &connection->reader;
  const struct answer_header *header = &reader->header;
  uint64_t payload = header->length - sizeof(struct answer_header);
  switch (header->kind) {
    case ANSWER_WELCOME:
      return begin_welcome(connection, payload);
    case ANSWER_REPLY:
      return begin_reply(connection, reader->call = calls_find(connection, header->tag), payload);
    case ANSWER_DATA:
      return begin_data(connection, reader->call = calls_find(connection, header->tag), offset, payload - OFFSET_BYTES);
    case ANSWER_CALLBACK:
      expect(connection, SINK_NONE, NULL, 0, payload);
      return callback_arrived(header->tag, header->result);
    case ANSWER_ACK:
      expect(connection, SINK_NONE, NULL, 0, payload);
      return true;
    case ANSWER_FATAL: {
      uint64_t kept = payload < CONNECTION_TEXT_BYTES ? payload : CONNECTION_TEXT_BYTES;
      memset(reader->text, 0, sizeof reader->text);
      expect(connection, SINK_MEMORY, reader->text, kept, payload - kept);
      return true;
    }
    case ANSWER_OUTPUT: {
      uint64_t bytes = (uint64_t)(int64_t)header->result;
      if (header->result < 0 || bytes > payload) return false;
      expect(connection, output_sink(header->tag), NULL, bytes, payload - bytes);
      return true;
    }
    default:
      return false;
  }
}

/** Moves what is in the buffer to where the payload under way goes. */
static void feed_payload(struct connection *connection) {
  struct reader *reader = &connection->reader;
  uint64_t there = reader->end - reader->begin, part;
  for (;;) {
    part = reader->left < there ? reader->left : there;
    if (part) {
      if (reader->sink == SINK_MEMORY && reader->to) {
        memcpy(reader->to, reader->buffer + reader->begin, part);
        reader->to += part;
      } else if (reader->sink == SINK_STDOUT) {
        fwrite(reader->buffer + reader->begin, 1, part, stdout);
      } else if (reader->sink == SINK_STDERR) {
        fwrite(reader->buffer + reader->begin, 1, part, stderr);
      }
      reader->begin += (uint32_t)part;
      reader->left -= part;
      there -= part;
    }
    if (reader->left || !reader->rest) break;
    next_row(connection);
  }
  if (reader->left == 0) {
    part = reader->skip < there ? reader->skip : there;
    reader->begin += (uint32_t)part;
    reader->skip -= part;
    if (reader->skip == 0) payload_complete(connection);
  }
}

/** Takes apart all that is in the buffer. False: it is not what a worker sends. */
static bool parse(struct connection *connection) {
  struct reader *reader = &connection->reader;
  while (session_alive()) {
    if (reader->underWay) {
      feed_payload(connection);
      if (reader->underWay) return true;
      continue;
    }
    uint32_t there = reader->end - reader->begin;
    if (there < sizeof(struct answer_header)) return true;
    const uint8_t *at = reader->buffer + reader->begin;
    memcpy(&reader->header, at, sizeof(struct answer_header));
    const struct answer_header *header = &reader->header;
    if (header->length < sizeof(struct answer_header) || header->length % 8 || header->length > MAX_FRAME_BYTES) {
      return false;
    }
    uint64_t offset = 0;
    uint32_t used = (uint32_t)sizeof(struct answer_header);
    bool control = header->kind == ANSWER_ACK && connection_resumable(connection);
    if (header->kind == ANSWER_DATA || control) {
      used += OFFSET_BYTES;
      if (header->length < used) return false;
      if (there < used) return true;
      memcpy(&offset, at + sizeof(struct answer_header), OFFSET_BYTES);
    }
    reader->begin += used;
    if (!(control ? control_take(connection, offset) : begin_frame(connection, offset))) return false;
  }
  return true;
}

void reader_parse(struct connection *connection) {
  if (session_alive() && !parse(connection)) session_malformed("a frame that is none");
  receive_settle(connection);
  if (connection_resumable(connection)) control_acknowledge(connection, false);
}

bool reader_begin(struct connection *connection) { return lock_try(&connection->reader.role); }

void reader_take(struct connection *connection) {
  if (receive_some(connection, false)) reader_parse(connection);
  if (!session_alive()) calls_fail(connection, session_answer());
}

void reader_end(struct connection *connection) {
  lock_release(&connection->reader.role);
  calls_appoint(connection);
  control_pass_on(connection);
}

static void fail_calls(void) {
  for (uint32_t i = 0; i < connectionCount; i++) {
    struct reader *reader = &connections[i].reader;
    // A thread that reads is woken by the shut-down socket and does the same.
    if (!lock_try(&reader->role)) continue;
    calls_fail(&connections[i], session_answer());
    lock_release(&reader->role);
  }
}
ON_SESSION_LOST(fail_calls);
