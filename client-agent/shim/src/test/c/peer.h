// SPDX-License-Identifier: Apache-2.0
// The other end, for tests: an agent and a worker in threads of this process, speaking the real bytes.
// Device memory is host memory; a kernel named "store" writes its second parameter (u32) to its first
// (address), "spin" does nothing. A test may take over any op with a handler of its own.
#pragma once

#include "ops.h"
#include "transport/text_message.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
  PEER_ATTRIBUTES = 148,
  PEER_MAX_FUNCTIONS = 4096,
};

/** Added to addresses of host memory, since device memory has places where the program has nothing. */
#define PEER_DEVICE (1ull << 47)

static uint64_t peer_given(const void *host) { return (uintptr_t)host + PEER_DEVICE; }

static void *peer_host(uint64_t address) { return (void *)(uintptr_t)(address & (PEER_DEVICE - 1)); }

struct frame {
  uint32_t length;
  uint16_t op, ctx;
  uint64_t slot[];  // fenced ops: the tag first
};

struct peer;

/** One worker. */
struct peer_session {
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
  uint32_t digestError;
  _Atomic int sessions;  // accepted so far
  struct text_message asked;  // of the agent, last
  void *own;
};

static void peer_write(struct peer_session *session, const void *bytes, size_t count) {
  const uint8_t *at = bytes;
  while (count) {
    ssize_t sent = send(session->stream, at, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    at += sent;
    count -= (size_t)sent;
  }
}

static void peer_answer(struct peer_session *session, uint16_t kind, uint32_t tag, int32_t result,
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

static void peer_reply(struct peer_session *session, const struct frame *frame, int32_t result,
                       const void *payload, uint32_t bytes) {
  peer_answer(session, ANSWER_REPLY, (uint32_t)frame->slot[0], result, payload, bytes);
}

static void peer_welcome(struct peer_session *session) {
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
  memcpy(device + 296, attributes, sizeof attributes);
  peer_answer(session, ANSWER_WELCOME, 0, 0, payload, sizeof payload);
}

static void peer_data(struct peer_session *session, uint32_t tag, const uint8_t *from,
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

/** The payload of moduleLoad: what is wanted of two empty logs and "store", "spin" and "empty". */
static void peer_module(struct peer_session *session, const struct frame *frame) {
  static const struct {
    char name[8];
    uint32_t count, parameters[8];
  } functions[] = {
      {"store", 2, {0, 8, 8, 4}}, {"spin", 4, {0, 8, 8, 8, 16, 8, 24, 4}}, {"empty", 0, {0}}};
  uint8_t payload[512] = {0}, list[400] = {0};
  uint64_t listBytes = 0;
  uint32_t used = 0;
  for (size_t i = 0; i < 3; i++) {
    uint32_t head[2] = {(uint32_t)strlen(functions[i].name), functions[i].count};
    uint8_t *at = list + listBytes;
    memcpy(at, head, 8);
    memcpy(at + 8, functions[i].name, 8);
    memcpy(at + 16, functions[i].parameters, functions[i].count * 8);
    listBytes += 16 + functions[i].count * 8;
  }
  for (int log = 4; log <= 5; log++) used += frame->slot[log] ? 8 : 0;
  if (frame->slot[6]) {
    memcpy(payload + used, &listBytes, 8);
    memcpy(payload + used + 8, list, listBytes);
    used += 8 + (uint32_t)listBytes;
  }
  peer_reply(session, frame, 0, payload, used);
}

static void peer_launch(struct peer_session *session, const struct frame *frame) {
  const uint32_t *word = (const uint32_t *)frame->slot;
  session->launches++;
  if (word[0] >= PEER_MAX_FUNCTIONS || session->functions[word[0]] != 's') return;
  const uint8_t *parameters = (const uint8_t *)frame + 56 + word[11] * 72;
  uint64_t address;
  memcpy(&address, parameters, 8);
  memcpy(peer_host(address), parameters + 8, 4);
}

/** A box in memory to or from bytes one row after the other; slot: the box's side, from its address. */
static void peer_box(const uint64_t *slot, uint8_t *tight, bool write) {
  uint64_t pitch = slot[4], rows = slot[5], width = slot[6], height = slot[7], depth = slot[8];
  for (uint64_t z = 0; z < depth; z++) {
    for (uint64_t y = 0; y < height; y++, tight += width) {
      uint8_t *row = (uint8_t *)peer_host(slot[0]) + (z * rows + y) * pitch;
      memcpy(write ? row : tight, write ? tight : row, width);
    }
  }
}

static void peer_default(struct peer_session *session, const struct frame *frame) {
  const uint64_t *slot = frame->slot;
  uint64_t none[4] = {0};
  switch (frame->op) {
    case OP_memAlloc:
    case OP_memAllocAsync: {
      uint64_t address = peer_given(malloc(slot[1]));
      peer_reply(session, frame, 0, &address, 8);
      break;
    }
    case OP_memAllocPitch: {
      uint64_t pitch = (slot[1] + 511) & ~511ull;
      uint64_t out[2] = {peer_given(malloc(pitch * slot[2])), pitch};
      peer_reply(session, frame, 0, out, 16);
      break;
    }
    case OP_memFree:
    case OP_memFreeAsync:
      free(peer_host(slot[0]));
      break;
    case OP_memGetInfo: {
      uint64_t out[2] = {1ull << 29, 1ull << 30};
      peer_reply(session, frame, 0, out, 16);
      break;
    }
    case OP_memcpyHtoD:
      memcpy(peer_host(slot[0]), slot + 3, slot[2]);
      break;
    case OP_memcpyDtoH:
      peer_data(session, (uint32_t)slot[0], peer_host(slot[1]), slot[2]);
      break;
    case OP_memcpyDtoHPosted:
      peer_data(session, (uint32_t)slot[0], peer_host(slot[1]), slot[2]);
      break;
    case OP_write3D:
      peer_box(slot + 1, (uint8_t *)(uintptr_t)(slot + 12), true);
      break;
    case OP_read3D: {
      uint64_t bytes = slot[8] * slot[9] * slot[10];
      uint8_t *tight = malloc(bytes);
      peer_box(slot + 2, tight, false);
      peer_data(session, (uint32_t)slot[0], tight, bytes);
      free(tight);
      break;
    }
    case OP_cuMemcpyDtoDAsync_v2:
      memmove(peer_host(slot[0]), peer_host(slot[1]), slot[2]);
      break;
    case OP_cuMemsetD8Async:
      memset(peer_host(slot[0]), (int)slot[1], slot[2]);
      break;
    case OP_cuMemsetD32Async:
      for (uint64_t i = 0; i < slot[2]; i++) ((uint32_t *)peer_host(slot[0]))[i] = (uint32_t)slot[1];
      break;
    case OP_moduleLoad:
      peer_module(session, frame);
      break;
    case OP_moduleBindFunction:
      if (slot[1] < PEER_MAX_FUNCTIONS) {
        bool store = slot[2] == 5 && memcmp(slot + 3, "store", 5) == 0;
        session->functions[slot[1]] = store ? 's' : 'n';
      }
      break;
    case OP_moduleGetGlobal: {
      static uint8_t global[4096];
      uint64_t out[2] = {peer_given(global), sizeof global};
      peer_reply(session, frame, 0, out, 16);
      break;
    }
    case OP_functionGetAttributes: {
      enum { ATTRIBUTES = 17 };
      uint64_t out[1 + ATTRIBUTES] = {8 * ATTRIBUTES, (uint64_t)1024 << 32};  // a length, then results and values
      peer_reply(session, frame, 0, out, sizeof out);
      break;
    }
    case OP_launch:
      peer_launch(session, frame);
      break;
    case OP_streamHostFunction:
      peer_answer(session, ANSWER_CALLBACK, (uint32_t)slot[1], 0, NULL, 0);
      break;
    case OP_cuOccupancyMaxActiveBlocksPerMultiprocessor:
    case OP_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags:
      none[0] = 2048 / (slot[3] ? slot[3] : 1);
      peer_reply(session, frame, 0, none, 8);
      break;
    case OP_ctxRetainPrimary:
    case OP_ctxResetPrimary:
    case OP_ctxCreate:
    case OP_ctxSynchronize:
    case OP_ctxSetLimit:
    case OP_ctxGetLimit:
    case OP_poolGetAttribute:
    case OP_streamQuery:
    case OP_streamSynchronize:
    case OP_eventQuery:
    case OP_eventSynchronize:
    case OP_cuOccupancyAvailableDynamicSMemPerBlock:
    case OP_cuMemPoolTrimTo:
    case OP_cuEventElapsedTime:
    case OP_cuEventElapsedTime_v2:
      peer_reply(session, frame, 0, none, 8);
      break;
    case OP_moduleGetFunction:
      peer_reply(session, frame, 500, NULL, 0);
      break;
    default:
      break;  // posted, and nothing to see
  }
}


static void *peer_worker(void *argument) {
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
    if (got <= 0) break;
    there += (size_t)got;
    size_t at = 0;
    while (there - at >= 8) {
      const struct frame *frame = (const struct frame *)(void *)(in + at);
      if (frame->length < 8 || frame->length % 8 || frame->length > MAX_FRAME_BYTES) {
        fprintf(stderr, "peer: bad frame length %u\n", frame->length);
        abort();
      }
      if (there - at < frame->length) break;
      session->frames++;
      if (!peer->handler || !peer->handler(session, frame)) peer_default(session, frame);
      at += frame->length;
    }
    memmove(in, in + at, there - at);
    there -= at;
  }
  close(session->stream);
  free(in);
  return NULL;
}

static void peer_send_descriptor(int socket, int descriptor) {
  char byte = 0;
  struct iovec vector = {&byte, 1};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct msghdr message = {.msg_iov = &vector,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != 1) perror("peer: sendmsg");
}

static void peer_describe_connections(const struct peer *peer, struct text_message *message) {
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

static void peer_begin(struct peer *peer, int agent, uint32_t connection);

static void peer_accept(struct peer *peer, int agent) {
  struct text_message *message = calloc(1, sizeof *message);
  if (!text_receive(message, agent)) {
    close(agent);
    free(message);
    return;
  }
  peer->asked = *message;
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
  text_send(message, agent);
  free(message);
  atomic_fetch_add(&peer->sessions, 1);
  uint32_t count = peer->connections ? peer->connections : 1;
  for (uint32_t connection = 0; connection < count; connection++) peer_begin(peer, agent, connection);
}

static void peer_begin(struct peer *peer, int agent, uint32_t connection) {
  struct peer_session *session = calloc(1, sizeof *session);
  session->connection = connection;
  session->peer = peer;
  session->agent = agent;
  session->stream = agent;
  if (!peer->relay) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) abort();
    peer_send_descriptor(agent, pair[1]);
    close(pair[1]);
    session->stream = pair[0];
  }
  pthread_t thread;
  if (pthread_create(&thread, NULL, peer_worker, session) != 0) abort();
  pthread_detach(thread);
}

static void *peer_agent(void *argument) {
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
