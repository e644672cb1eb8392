// SPDX-License-Identifier: Apache-2.0
// The seal of the worker's end, for tests: if PEER_SEALED is set, two threads open and seal records between the program
// and a worker that has its bytes in the clear. Records are cut anywhere.
#pragma once

#include "seal/record.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct peer_seal {
  int sealed, clear;
  struct seal_direction opening, sealing;
  size_t firstBytes;
  _Atomic int running;
};

/** The fault that is put into the next record sealed for the program. */
enum peer_spoiling { PEER_NOTHING, PEER_FLIP, PEER_REPLAY, PEER_LEAVE_OUT, PEER_TRUNCATE };

static _Atomic int peerSpoiling;

static inline bool peer_is_sealed(void) { return getenv("PEER_SEALED") != NULL; }

/** The secret of the next connection, as the agent tells it. */
static inline void peer_next_secret(uint8_t secret[SEAL_SECRET_BYTES], char text[2 * SEAL_SECRET_BYTES + 1]) {
  static _Atomic uint32_t last;
  uint32_t number = atomic_fetch_add(&last, 1);
  for (uint32_t i = 0; i < SEAL_SECRET_BYTES; i++) {
    secret[i] = (uint8_t)((number + i) * 2654435761u >> 11);
    sprintf(text + 2 * i, "%02x", secret[i]);
  }
}

static inline bool peer_seal_take(int from, uint8_t *to, size_t bytes) {
  while (bytes) {
    ssize_t got = recv(from, to, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= (size_t)got;
  }
  return true;
}

static inline bool peer_seal_give(int to, const uint8_t *from, size_t bytes) {
  while (bytes) {
    ssize_t sent = send(to, from, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    from += sent;
    bytes -= (size_t)sent;
  }
  return true;
}

static inline void peer_seal_end(struct peer_seal *seal) {
  shutdown(seal->sealed, SHUT_RDWR);
  shutdown(seal->clear, SHUT_RDWR);
  if (atomic_fetch_sub(&seal->running, 1) != 1) return;
  close(seal->sealed);
  close(seal->clear);
  free(seal);
}

static inline void *peer_open_records(void *argument) {
  struct peer_seal *seal = argument;
  static _Thread_local uint8_t record[SEAL_RECORD_BYTES], content[SEAL_RECORD_BYTES];
  while (peer_seal_take(seal->sealed, record, SEAL_HEADER_BYTES)) {
    size_t bytes = seal_record_bytes(record), opened = 0;
    if (!bytes) {
      fprintf(stderr, "peer: what came is no record\n");
      abort();
    }
    if (!peer_seal_take(seal->sealed, record + SEAL_HEADER_BYTES, bytes - SEAL_HEADER_BYTES)) break;
    opened = seal_open(&seal->opening, record, bytes, content);
    if (!opened) {
      fprintf(stderr, "peer: a record does not open\n");
      abort();
    }
    if (!peer_seal_give(seal->clear, content, opened)) break;
  }
  peer_seal_end(seal);
  return NULL;
}

static inline void *peer_seal_records(void *argument) {
  struct peer_seal *seal = argument;
  static _Thread_local uint8_t record[SEAL_RECORD_BYTES], content[SEAL_CONTENT_BYTES];
  for (uint32_t count = 0;; count++) {
    size_t most = count % 3 ? sizeof content : 1 + count * 2654435761u % sizeof content;
    size_t first = count ? 0 : seal->firstBytes;
    ssize_t got = recv(seal->clear, content, first ? first : most, first ? MSG_WAITALL : 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    struct iovec vector = {content, (size_t)got};
    static _Thread_local uint8_t former[SEAL_RECORD_BYTES];
    static _Thread_local size_t formerBytes;
    size_t bytes = seal_record(&seal->sealing, &vector, (size_t)got, record);
    int spoiling = atomic_exchange(&peerSpoiling, PEER_NOTHING);
    if (spoiling == PEER_FLIP) record[bytes / 2] ^= 1;
    if (spoiling == PEER_LEAVE_OUT) continue;
    if (spoiling == PEER_REPLAY && !peer_seal_give(seal->sealed, former, formerBytes)) break;
    if (spoiling == PEER_TRUNCATE) {
      peer_seal_give(seal->sealed, record, bytes / 2);
      break;
    }
    memcpy(former, record, bytes);
    formerBytes = bytes;
    if (!peer_seal_give(seal->sealed, record, bytes)) break;
  }
  peer_seal_end(seal);
  return NULL;
}

/**
 * Seals the worker's end of a stream; answers the descriptor for the worker.
 *
 * @param firstBytes of the first record; 0: any number
 */
static inline int peer_seal_stream(int stream, const uint8_t secret[SEAL_SECRET_BYTES], size_t firstBytes) {
  int pair[2];
  pthread_t threads[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) abort();
  struct peer_seal *seal = calloc(1, sizeof *seal);
  seal->sealed = stream;
  seal->clear = pair[0];
  seal->firstBytes = firstBytes;
  atomic_store(&seal->running, 2);
  bool begun = seal_begin(&seal->opening, secret, SEAL_BY_PROGRAM, true) &&
               seal_begin(&seal->sealing, secret, SEAL_BY_WORKER, false);
  if (!begun || pthread_create(&threads[0], NULL, peer_open_records, seal) != 0 ||
      pthread_create(&threads[1], NULL, peer_seal_records, seal) != 0) {
    abort();
  }
  pthread_detach(threads[0]);
  pthread_detach(threads[1]);
  return pair[1];
}
