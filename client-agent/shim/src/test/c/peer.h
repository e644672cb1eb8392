// SPDX-License-Identifier: Apache-2.0
// The other end, for tests: an agent and a worker in threads of this process, speaking the real bytes.
// Device memory is host memory; a kernel named "store" writes its second parameter (u32) to its first
// (address), "spin" does nothing. A test may take over any op with a handler of its own.
#pragma once

#include "peer_ops.h"
#include "peer_resume.h"

#include <pthread.h>
#include <sys/un.h>

static inline void peer_welcome(struct peer_session *session) {
  enum { DEVICE_BYTES = 296 + 4 * PEER_ATTRIBUTES };
  uint8_t payload[16 + DEVICE_BYTES] = {0};
  uint32_t head[4] = {13000, 1, PEER_ATTRIBUTES, CONTRACT_DIGEST ^ session->peer->digestError};
  memcpy(payload, head, sizeof head);
  uint8_t *device = payload + 16;
  strcpy((char *)device, "Test GPU");
  memset(device + 256, 0x5a, 16);
  strcpy((char *)device + 272, "0000:01:00.0");
  uint64_t memory = 1ull << 30;
  memcpy(device + 288, &memory, 8);
  int32_t attributes[PEER_ATTRIBUTES] = {0};
  static const int32_t known[][2] = {
      {1, 1024},    {2, 1024},     {3, 1024},      {4, 64},    {5, INT32_MAX}, {6, 65535},
      {7, 65535},   {8, 49152},    {9, 65536},     {10, 32},   {11, INT32_MAX}, {12, 65536},
      {13, 1000000}, {14, 512},    {15, 1},        {16, 16},   {31, 1},        {33, 1},
      {36, 1000000}, {37, 256},    {38, 4 << 20},  {39, 2048}, {40, 2},        {41, 1},
      {69, 1 << 27}, {75, 9},      {76, 0},        {78, 1},    {79, 1},        {81, 233472},
      {82, 65536},  {95, 1},       {97, 232448},   {99, 1},    {106, 32},      {111, 1024},
      {115, 1},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) attributes[known[i][0]] = known[i][1];
  attributes[0] = (session->peer->allocatesAt ? DEVICE_ALLOCATES_AT : 0) |
                  (session->peer->hasCollectives ? DEVICE_COLLECTIVES : 0);
  memcpy(device + 296, attributes, sizeof attributes);
  peer_answer(session, ANSWER_WELCOME, 0, 0, payload, sizeof payload);
}

static inline void *peer_worker(void *argument) {
  enum { IN_BYTES = 4 << 20 };
  struct peer_session *session = argument;
  struct peer *peer = session->peer;
  uint8_t *in = malloc(IN_BYTES);
  size_t there = 0;
  if (peer->welcome) {
    peer->welcome(session);
  } else {
    peer_welcome(session);
  }
  for (;;) {
    ssize_t got = recv(session->stream, in + there, IN_BYTES - there, 0);
    if (got < 0 && errno == EINTR) continue;
    if (session->resuming) got = peer_received(session, got);
    if (got <= 0 && !session->resuming) break;
    there += got > 0 ? (size_t)got : 0;
    size_t at = 0;
    while (there - at >= 8) {
      const struct frame *frame = (const struct frame *)(void *)(in + at);
      if (frame->length < 8 || frame->length % 8 || frame->length > MAX_FRAME_BYTES) {
        fprintf(stderr, "peer: bad frame length %u\n", frame->length);
        abort();
      }
      if (there - at < frame->length) break;
      if (session->resuming && peer_control(session, frame)) {
        at += frame->length;
        continue;
      }
      session->frames++;
      if (!peer->handler || !peer->handler(session, frame)) peer_default(session, frame);
      at += frame->length;
    }
    memmove(in, in + at, there - at);
    there -= at;
    if (!session->resuming) continue;
    peer_acknowledge(session, false);
    if (got > 0) continue;
    there = 0;
    if (!peer_resume(session)) break;
  }
  close(session->stream);
  free(in);
  return NULL;
}

static inline void peer_describe_connections(const struct peer *peer, struct text_message *message) {
  static const char *const keys[] = {"server", "session", "stream", "peer_key"};
  char name[32], value[32];
  snprintf(value, sizeof value, "%u", peer->connections);
  text_add(message, "streams", value);
  for (uint32_t connection = 0; connection < peer->connections; connection++) {
    for (int i = 0; i < 4; i++) {
      snprintf(name, sizeof name, "%s.%u", keys[i], connection);
      snprintf(value, sizeof value, "%s-of-%u", keys[i], connection);
      text_add(message, name, value);
    }
  }
}

static inline void peer_begin(struct peer *peer, int agent, uint32_t connection, const uint8_t *secret);

static inline void peer_accept(struct peer *peer, int agent) {
  struct text_message *message = calloc(1, sizeof *message);
  if (!text_receive(message, agent)) {
    close(agent);
    free(message);
    return;
  }
  if (peer_asked_to_hold(message, agent)) {
    free(message);
    return;
  }
  peer->asked = *message;
  if (peer_asked_to_resume(peer, message, agent)) {
    free(message);
    return;
  }
  text_begin(message);
  if (peer->refusal) {
    message->bytes = (uint32_t)strlen(peer->refusal);
    memcpy(message->text, peer->refusal, message->bytes);
    text_send(message, agent);
    close(agent);
    free(message);
    return;
  }
  text_add(message, "type", "attached");
  text_add(message, "protocol", "1");
  text_add(message, "mode", peer->relay ? "relay" : "descriptor");
  text_add(message, "session", "s1");
  text_add(message, "server", "test");
  if (peer->connections) peer_describe_connections(peer, message);
  if (peer->resumeWindow) peer_describe_resuming(peer, message);
  uint8_t secrets[PEER_MAX_RESUMING][SEAL_SECRET_BYTES];
  for (uint32_t i = 0; peer_is_sealed() && i < (peer->connections ? peer->connections : 1); i++) {
    char name[32], secret[2 * SEAL_SECRET_BYTES + 1];
    peer_next_secret(secrets[i], secret);
    snprintf(name, sizeof name, "secret.%u", i);
    text_add(message, name, secret);
  }
  for (uint32_t i = 0; peer_shares() && i < (peer->connections ? peer->connections : 1); i++) {
    char name[32];
    snprintf(name, sizeof name, "local.%u", i);
    text_add(message, name, "1");
  }
  text_send(message, agent);
  free(message);
  atomic_fetch_add(&peer->sessions, 1);
  uint32_t count = peer->connections ? peer->connections : 1;
  for (uint32_t connection = 0; connection < count; connection++) peer_begin(peer, agent, connection, secrets[connection]);
}

static inline void peer_begin(struct peer *peer, int agent, uint32_t connection, const uint8_t *secret) {
  struct peer_session *session = calloc(1, sizeof *session);
  session->connection = connection;
  session->peer = peer;
  session->agent = agent;
  session->stream = agent;
  if (peer->resumeWindow) peer_resuming_begin(session);
  if (!peer->relay) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) abort();
    peer_send_descriptor(agent, pair[1]);
    close(pair[1]);
    session->stream = pair[0];
  }
  if (peer_is_sealed()) session->stream = peer_seal_stream(session->stream, secret, 0);
  if (peer_shares()) session->stream = peer_share_stream(session->stream, peer_send_descriptor);
  pthread_t thread;
  if (pthread_create(&thread, NULL, peer_worker, session) != 0) abort();
  pthread_detach(thread);
}

static inline void *peer_agent(void *argument) {
  struct peer *peer = argument;
  for (;;) {
    int agent = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC);
    if (agent >= 0) {
      peer_accept(peer, agent);
    } else if (errno != EINTR) {
      return NULL;
    }
  }
}

/** Starts the other end and points GPUPOOL_AGENT at it. */
static inline void peer_start(struct peer *peer) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  static int count;
  int length = snprintf(peer->name, sizeof peer->name, "@gpupool-test-%d-%d", (int)getpid(), count++);
  memcpy(address.sun_path, peer->name, (size_t)length);
  address.sun_path[0] = '\0';
  peer->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length);
  if (bind(peer->listener, (struct sockaddr *)&address, size) != 0 || listen(peer->listener, 16) != 0) {
    perror("peer: listen");
    abort();
  }
  setenv("GPUPOOL_AGENT", peer->name, 1);
  pthread_t thread;
  if (pthread_create(&thread, NULL, peer_agent, peer) != 0) abort();
  pthread_detach(thread);
}
