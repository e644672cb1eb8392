// SPDX-License-Identifier: Apache-2.0
#include "transport/replies.h"

#include "core/log.h"
#include "core/trace.h"
#include "transport/agent.h"
#include "transport/calls.h"
#include "transport/cut.h"
#include "transport/poll.h"
#include "transport/reader.h"
#include "transport/receive.h"
#include "transport/ring.h"
#include "transport/sender.h"
#include "transport/session_state.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Waits a little for something to come, awake. */
static int spin(struct connection *connection) {
  struct reader *reader = &connection->reader;
  bool bulk = reader->underWay && reader->left > READ_BUFFER_BYTES;
  if (bulk) return 0;
  int got = 0;
  spin_begin(&reader->spin, now_nanos());
  while (!got && spin_goes_on(&reader->spin)) {
    spin_pause(&reader->spin);
    got = receive_some(connection, false);
  }
  spin_end(&reader->spin, got);
  return got;
}

/** Waits until something has come, and takes it apart. */
static void step(struct connection *connection) {
  int got = receive_some(connection, false);
  if (!got) {
    got = spin(connection);
    if (!got && connectionCount > 1) {
      connection_poll(connection, POLLIN);
      got = receive_some(connection, false);
    } else if (!got) {
      got = receive_some(connection, true);
    }
  }
  if (got) reader_parse(connection);
  if (atomic_load_explicit(&connection->acknowledgement.due, memory_order_relaxed)) sender_acknowledge(connection);
  if (!session_alive()) calls_fail(connection, session_answer());
}

void call_await(struct call *call) {
  struct connection *connection = call->connection;
  roundTrips++;
  for (;;) {
    uint32_t word = atomic_load(&call->word);
    if (word == WORD_DONE) return;
    if (word == WORD_LEAD) {
      atomic_compare_exchange_strong(&call->word, &word, WORD_IDLE);
    }
    if (reader_begin(connection)) {
      while (atomic_load(&call->word) != WORD_DONE && !cut_now(connection)) {
        if (session_alive()) {
          step(connection);
        } else {
          calls_fail(connection, session_answer());
        }
      }
      reader_end(connection);
      if (atomic_load(&call->word) == WORD_DONE) return;
      cut_wait(connection);
      continue;
    }
    word = WORD_IDLE;
    if (atomic_compare_exchange_strong(&call->word, &word, WORD_ASLEEP)) {
      futex_wait(&call->word, WORD_ASLEEP, NULL);
      word = WORD_ASLEEP;
      atomic_compare_exchange_strong(&call->word, &word, WORD_IDLE);
    }
  }
}

CUresult call_wait(struct call *call) {
  ring_post_now(call->connection);
  call_await(call);
  return call->result;
}

CUresult call_cancel(struct call *call) {
  // The session is lost, so the thread that reads ends every call, this one too: its memory must stay until then.
  call_await(call);
  free(call->payload);
  call->payload = NULL;
  return session_answer();
}

static void lose_silent(int seconds) {
  char cause[128];
  snprintf(cause, sizeof cause, "its worker has been silent for %d s (GPUPOOL_ATTACH_TIMEOUT)",
           seconds);
  session_lose(CUDA_ERROR_SYSTEM_NOT_READY, cause);
}

/** Reads the WELCOME until it is there, the connection cut or the session lost. The role is held. */
static void read_welcome(struct connection *connection, int seconds) {
  struct reader *reader = &connection->reader;
  uint64_t until = now_nanos() + (uint64_t)seconds * 1000000000;
  agent_limit_waits(connection->stream, 1000L * seconds);
  while (session_alive() && !reader->welcomed && !cut_now(connection)) {
    step(connection);
    if (seconds && !reader->welcomed && !cut_now(connection) && now_nanos() >= until) lose_silent(seconds);
  }
}

uint8_t *replies_welcome(struct connection *connection, uint32_t *bytes) {
  struct reader *reader = &connection->reader;
  uint8_t *payload = NULL;
  int seconds = agent_patience();
  lock_take(&reader->role);
  read_welcome(connection, seconds);
  while (cut_now(connection) && session_alive()) {
    reader_end(connection);
    cut_wait(connection);
    lock_take(&reader->role);
    read_welcome(connection, seconds);
  }
  agent_limit_waits(connection->stream, 0);
  if (session_alive()) {
    payload = reader->welcome;
    *bytes = reader->welcomeBytes;
  } else {
    free(reader->welcome);
  }
  reader->welcome = NULL;
  reader_end(connection);
  return payload;
}
