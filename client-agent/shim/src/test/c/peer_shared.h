// SPDX-License-Identifier: Apache-2.0
// The worker's end of a stream in shared memory, for tests: if PEER_SHARED is set, two threads move bytes between the
// rings and a worker that has a socket.
#pragma once

#include "rings/byte_ring.h"
#include "wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct peer_shared {
  int door, clear, file;
  uint8_t *memory;
  struct byte_ring requests, answers;
  _Atomic int running;
};

/** How many streams in shared memory have ended. */
static _Atomic int peerSharedEnds;

static inline bool peer_shares(void) { return getenv("PEER_SHARED") != NULL; }

static inline void peer_shared_end(struct peer_shared *shared) {
  shutdown(shared->door, SHUT_RDWR);
  shutdown(shared->clear, SHUT_RDWR);
  if (atomic_fetch_sub(&shared->running, 1) != 1) return;
  munmap(shared->memory, SHARED_MEMORY_BYTES);
  close(shared->door);
  close(shared->clear);
  close(shared->file);
  free(shared);
  atomic_fetch_add(&peerSharedEnds, 1);
}

/** Cuts a stream, after which nothing more is answered on it: what is in shared memory already would be. */
static inline void peer_shut(int stream) {
  int before = atomic_load(&peerSharedEnds);
  shutdown(stream, SHUT_RDWR);
  // Another process has its own count.
  for (int i = 0; i < 1000 && peer_shares() && atomic_load(&peerSharedEnds) == before; i++) usleep(100);
}

/** The descriptor that came last beside a stream; -1: none. */
static _Atomic int peerDescriptor = -1;

/** Takes bytes that wake, and a descriptor that comes with them; results are those of recv. */
static inline ssize_t peer_shared_door(struct peer_shared *shared, int flags) {
  char bytes[64];
  struct iovec vector = {bytes, sizeof bytes};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t got = recvmsg(shared->door, &message, flags | MSG_CMSG_CLOEXEC);
  if (got > 0 && CMSG_FIRSTHDR(&message)) {
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(&control.header), sizeof descriptor);
    atomic_store(&peerDescriptor, descriptor);
  }
  return got;
}

/** Takes what has come, waiting for it; 0: the program has gone. */
static inline size_t peer_shared_take(struct peer_shared *shared, uint8_t *to, size_t bytes) {
  for (ssize_t ended = 1;;) {
    ssize_t got = byte_ring_take(&shared->requests, to, bytes, RING_MEMORY_CERTAIN);
    // A descriptor was sent before the call that it belongs to.
    while (got > 0 && peer_shared_door(shared, MSG_DONTWAIT) > 0) continue;
    if (got > 0) return (size_t)got;
    if (errno != EAGAIN) abort();
    if (ended <= 0) return 0;
    if (byte_ring_sleep(&shared->requests)) ended = peer_shared_door(shared, 0);
    if (ended < 0 && errno == EINTR) ended = 1;
    byte_ring_wake(&shared->requests);
  }
}

static inline void *peer_take_requests(void *argument) {
  struct peer_shared *shared = argument;
  uint8_t bytes[100000];
  size_t got;
  while ((got = peer_shared_take(shared, bytes, sizeof bytes)) > 0) {
    if (send(shared->clear, bytes, got, MSG_NOSIGNAL) != (ssize_t)got) break;
  }
  peer_shared_end(shared);
  return NULL;
}

static inline bool peer_shared_gone(int stream) {
  char byte;
  ssize_t got = recv(stream, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static inline bool peer_shared_put(struct peer_shared *shared, const uint8_t *from, size_t bytes) {
  enum { PATIENCE_NANOS = 10000000 };
  while (bytes) {
    ssize_t put = byte_ring_put(&shared->answers, from, bytes, RING_MEMORY_CERTAIN);
    if (put < 0 && errno != EAGAIN) abort();
    if (put > 0) {
      from += put;
      bytes -= (size_t)put;
    }
    if (byte_ring_publish(&shared->answers)) send(shared->door, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) continue;
    byte_ring_await_room(&shared->answers, PATIENCE_NANOS);
    if (peer_shared_gone(shared->door)) return false;
  }
  return true;
}

static inline void *peer_put_answers(void *argument) {
  struct peer_shared *shared = argument;
  uint8_t bytes[100000];
  for (uint32_t count = 0;; count++) {
    size_t most = count % 3 ? sizeof bytes : 1 + count * 2654435761u % sizeof bytes;
    ssize_t got = recv(shared->clear, bytes, most, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || !peer_shared_put(shared, bytes, (size_t)got)) break;
  }
  peer_shared_end(shared);
  return NULL;
}

static inline struct byte_ring peer_ring(const struct peer_shared *shared, int state, int bytes) {
  return (struct byte_ring){.state = shared->memory + state,
                            .bytes = shared->memory + bytes,
                            .capacity = SHARED_RING_BYTES,
                            .file = shared->file,
                            .place = bytes};
}

/** Shares memory over a stream; answers the descriptor for the worker. */
static inline int peer_share_stream(int stream, void (*send_descriptor)(int socket, int descriptor)) {
  int pair[2];
  pthread_t threads[2];
  struct peer_shared *shared = calloc(1, sizeof *shared);
  shared->file = (int)syscall(SYS_memfd_create, "peer", 1);
  if (ftruncate(shared->file, SHARED_MEMORY_BYTES) != 0) abort();
  shared->memory = mmap(NULL, SHARED_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, shared->file, 0);
  if (shared->memory == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) abort();
  shared->requests = peer_ring(shared, SHARED_REQUESTS_STATE, SHARED_REQUESTS);
  shared->answers = peer_ring(shared, SHARED_ANSWERS_STATE, SHARED_ANSWERS);
  shared->door = stream;
  shared->clear = pair[0];
  atomic_store(&shared->running, 2);
  send_descriptor(stream, shared->file);
  if (pthread_create(&threads[0], NULL, peer_take_requests, shared) != 0 ||
      pthread_create(&threads[1], NULL, peer_put_answers, shared) != 0) {
    abort();
  }
  pthread_detach(threads[0]);
  pthread_detach(threads[1]);
  return pair[1];
}
