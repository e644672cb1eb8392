// SPDX-License-Identifier: Apache-2.0
// The worker of a session that outlives its connection, for tests: it keeps its answers, and cuts the connection in the
// middle of anything, as often as a test wants.
#pragma once

#include "peer_seal.h"
#include "peer_shared.h"
#include "transport/descriptors.h"
#include "peer_wire.h"

#include <poll.h>
#include <pthread.h>

enum { PEER_MAX_RESUMING = 16 };

struct peer_resuming {
  struct peer_session *session;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int next;         // a stream to go on with; -1: none
  uint8_t *answers;  // all of them, from a position on
  uint64_t answersFrom, answered, capacity, acknowledged;
  uint64_t taken, told;  // bytes of requests, and what the client knows of them
  uint64_t inLeft, outLeft;  // bytes until the connection is cut
  bool broken;
};

/** How the workers of this process behave; all zeros: they never cut a connection, and resume. */
static struct {
  uint64_t cutEvery;     // bytes in each direction, about; 0: never
  _Atomic int cutsLeft;
  _Atomic bool holdAcknowledgements;
  _Atomic bool holdCuts;  // a cut for which the bytes have come waits
  const char *_Atomic refusal;  // what the agent answers instead of a stream: the lines of its message
  _Atomic bool silent;   // the agent answers no question
  _Atomic bool suspended;  // the session is suspended, until the program wants it or a test ends that
  _Atomic bool sleepsOn;   // whether the program wants it or not
  _Atomic bool hangsUp;    // the agent of a suspended session hangs up, once
  _Atomic int wakes;       // how often the program has wanted it
  int64_t shift;         // by how much the position of RESUMED is wrong
  _Atomic int resumes;   // how often the agent was asked for a stream
  _Atomic int holds;     // and to hold the sessions
  struct text_message held;  // the latest question of that kind
  _Atomic uint32_t randomState;
  _Atomic uint64_t clientAcknowledged;
  // The latest frame of each kind:
  struct acknowledge_request acknowledge;
  struct resume_request resume;
  uint8_t ack[24], resumed[24];
  struct peer_resuming *live[PEER_MAX_RESUMING];  // of connections, by their number
} peerResume;

static inline uint64_t peer_until_cut(void) {
  if (!peerResume.cutEvery || atomic_fetch_sub(&peerResume.cutsLeft, 1) <= 0) return UINT64_MAX;
  uint32_t seed = atomic_fetch_add(&peerResume.randomState, 1) * 2654435761u;
  return 1 + (seed >> 4) % (2 * peerResume.cutEvery);
}

static inline void peer_resuming_begin(struct peer_session *session) {
  struct peer_resuming *resuming = calloc(1, sizeof *resuming);
  pthread_mutex_init(&resuming->lock, NULL);
  pthread_cond_init(&resuming->changed, NULL);
  resuming->session = session;
  resuming->next = -1;
  resuming->inLeft = peer_until_cut();
  resuming->outLeft = UINT64_MAX;
  session->resuming = peerResume.live[session->connection] = resuming;
}

static inline void peer_cut(struct peer_session *session) {
  session->resuming->broken = true;
  shutdown(session->stream, SHUT_RDWR);
}

/** Sends as far as the connection goes. */
static inline void peer_send(struct peer_session *session, const void *bytes, uint64_t count) {
  struct peer_resuming *resuming = session->resuming;
  const uint8_t *at = bytes;
  // A test may set what is left as soon as it has the answer.
  bool cut = count >= resuming->outLeft;
  if (cut) count = resuming->outLeft;
  if (resuming->outLeft != UINT64_MAX) resuming->outLeft -= count;
  while (count && !resuming->broken) {
    ssize_t sent = send(session->stream, at, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) {
      peer_cut(session);
      return;
    }
    at += sent;
    count -= (uint64_t)sent;
  }
  if (cut) peer_cut(session);
}

static inline void peer_write_resuming(struct peer_session *session, const void *bytes, size_t count) {
  struct peer_resuming *resuming = session->resuming;
  uint64_t kept = resuming->answered - resuming->answersFrom;
  if (kept + count > resuming->capacity) {
    resuming->capacity = 2 * (kept + count);
    resuming->answers = realloc(resuming->answers, resuming->capacity);
  }
  memcpy(resuming->answers + kept, bytes, count);
  resuming->answered += count;
  peer_send(session, bytes, count);
}

/** Looks at what recv gave; fewer bytes if the connection is cut among them. */
static inline ssize_t peer_received(struct peer_session *session, ssize_t got) {
  struct peer_resuming *resuming = session->resuming;
  if (got <= 0) return got;
  if ((uint64_t)got >= resuming->inLeft) {
    got = (ssize_t)resuming->inLeft;
    while (atomic_load(&peerResume.holdCuts)) usleep(1000);
    peer_cut(session);
  }
  if (resuming->inLeft != UINT64_MAX) resuming->inLeft -= (uint64_t)got;
  return got;
}

static inline void peer_acknowledge(struct peer_session *session, bool now);

/** Counts a request; true if it is a control frame, and all done. */
static inline bool peer_control(struct peer_session *session, const struct frame *frame) {
  struct peer_resuming *resuming = session->resuming;
  if (frame->op != CONTROL_ACKNOWLEDGE) {
    resuming->taken += frame->length;
    return false;
  }
  if (frame->length != 24 || frame->slot[0] > resuming->answered || frame->slot[0] < resuming->acknowledged) {
    fprintf(stderr, "peer: bad acknowledgement\n");
    abort();
  }
  resuming->acknowledged = frame->slot[0];
  memcpy(&peerResume.acknowledge, frame, sizeof peerResume.acknowledge);
  if (peerResume.acknowledge.wanted) peer_acknowledge(session, true);
  atomic_store(&peerResume.clientAcknowledged, frame->slot[0]);
  return true;
}

/** Sends ACK or RESUMED. */
static inline void peer_position(struct peer_session *session, uint16_t kind, uint32_t tag, uint64_t position) {
  struct answer_header header = {.length = 24, .kind = kind, .tag = tag};
  uint8_t frame[24];
  memcpy(frame, &header, sizeof header);
  memcpy(frame + sizeof header, &position, sizeof position);
  memcpy(kind == ANSWER_ACK ? peerResume.ack : peerResume.resumed, frame, sizeof frame);
  peer_send(session, frame, sizeof frame);
}

static inline void peer_acknowledge(struct peer_session *session, bool now) {
  struct peer_resuming *resuming = session->resuming;
  bool due = resuming->taken - resuming->told >= ACKNOWLEDGE_BYTES;
  if (!now && (!due || atomic_load(&peerResume.holdAcknowledgements))) return;
  resuming->told = resuming->taken;
  peer_position(session, ANSWER_ACK, 0, resuming->taken);
}

/** Waits for another stream and goes on with it. */
static inline bool peer_resume(struct peer_session *session) {
  struct peer_resuming *resuming = session->resuming;
  struct resume_request request;
  peer_cut(session);
  pthread_mutex_lock(&resuming->lock);
  while (resuming->next < 0) pthread_cond_wait(&resuming->changed, &resuming->lock);
  close(session->stream);
  session->stream = resuming->next;
  resuming->next = -1;
  pthread_mutex_unlock(&resuming->lock);
  resuming->broken = false;
  resuming->inLeft = peer_until_cut();
  resuming->outLeft = UINT64_MAX;
  ssize_t got = recv(session->stream, &request, sizeof request, MSG_WAITALL);
  if (got != sizeof request) return true;  // cut again
  peerResume.resume = request;
  if (request.op != CONTROL_RESUME || request.length != sizeof request || request.received > resuming->answered ||
      request.received < resuming->acknowledged) {
    fprintf(stderr, "peer: bad RESUME of %llu\n", (unsigned long long)request.received);
    abort();
  }
  peer_position(session, ANSWER_RESUMED, 0, resuming->taken + (uint64_t)peerResume.shift);
  resuming->told = resuming->taken;
  resuming->outLeft = peer_until_cut();
  peer_send(session, resuming->answers + (request.received - resuming->answersFrom), resuming->answered - request.received);
  return true;
}

static inline void peer_send_descriptor(int socket, int descriptor) {
  if (!descriptor_send(socket, descriptor)) perror("peer: sendmsg");
}

/** The keys by which a program resumes its sessions. */
static inline void peer_describe_resuming(const struct peer *peer, struct text_message *message) {
  char name[32], value[72];
  uint32_t count = peer->connections ? peer->connections : 1;
  snprintf(value, sizeof value, "%u", peer->resumeWindow);
  text_add(message, "resume_window", value);
  if (peer->ticket) text_add(message, "ticket", peer->ticket);
  if (!peer->connections) text_add(message, "server.0", "named");
  for (uint32_t i = 0; i < count; i++) {
    snprintf(name, sizeof name, "session_key.%u", i);
    snprintf(value, sizeof value, "%064x", i);
    text_add(message, name, value);
  }
}

/** Refuses a question, if the agent is to; true if so. */
static inline bool peer_refused(struct text_message *message, int agent) {
  const char *refusal = atomic_load(&peerResume.refusal);
  if (!refusal) return false;
  text_begin(message);
  message->bytes = (uint32_t)strlen(refusal);
  memcpy(message->text, refusal, message->bytes);
  text_send(message, agent);
  close(agent);
  return true;
}

/** Takes the place of an agent that has gone; false if that is not the question. */
static inline bool peer_asked_to_hold(struct text_message *message, int agent) {
  char type[16];
  text_get(message, "type", type, sizeof type);
  if (strcmp(type, "hold") != 0) return false;
  peerResume.held = *message;
  if (!peer_refused(message, agent)) {
    text_begin(message);
    text_add(message, "type", "holding");
    text_add(message, "protocol", "1");
    text_send(message, agent);
    for (int i = 0; i < PEER_MAX_RESUMING; i++) {
      if (peerResume.live[i]) peerResume.live[i]->session->agent = agent;
    }
  }
  atomic_fetch_add(&peerResume.holds, 1);
  return true;
}

/** Tells the program that its session is suspended, and waits until it is not; false if the connection ends. */
static inline bool peer_suspended(struct text_message *message, int agent) {
  if (!atomic_load(&peerResume.suspended)) return true;
  text_begin(message);
  text_add(message, "type", "suspended");
  text_add(message, "reason", "lease L1 is suspended");
  text_add(message, "wakes", "1");
  text_send(message, agent);
  while (atomic_load(&peerResume.suspended)) {
    if (atomic_exchange(&peerResume.hangsUp, false)) return false;
    struct pollfd said = {.fd = agent, .events = POLLIN};
    if (poll(&said, 1, 10) <= 0) continue;
    char type[16];
    if (!text_receive(message, agent)) return false;
    text_get(message, "type", type, sizeof type);
    if (strcmp(type, "wake") != 0) abort();
    atomic_fetch_add(&peerResume.wakes, 1);
    if (!atomic_load(&peerResume.sleepsOn)) atomic_store(&peerResume.suspended, false);
  }
  return true;
}

/** Answers a question for another stream; false if it is none. */
static inline bool peer_asked_to_resume(struct peer *peer, struct text_message *message, int agent) {
  char type[16], key[72];
  text_get(message, "type", type, sizeof type);
  if (strcmp(type, "resume") != 0) return false;
  text_get(message, "session_key", key, sizeof key);
  atomic_fetch_add(&peerResume.resumes, 1);
  if (atomic_load(&peerResume.silent)) return true;
  if (!peer_suspended(message, agent)) {
    close(agent);
    return true;
  }
  if (peer_refused(message, agent)) return true;
  text_begin(message);
  struct peer_resuming *resuming = peerResume.live[strtoul(key, NULL, 16) % PEER_MAX_RESUMING];
  int pair[2];
  (void)peer;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) abort();
  uint8_t secret[SEAL_SECRET_BYTES];
  char digits[2 * SEAL_SECRET_BYTES + 1] = "";
  if (peer_is_sealed()) {
    peer_next_secret(secret, digits);
    pair[0] = peer_seal_stream(pair[0], secret, sizeof peerResume.resumed);
  }
  if (peer_shares()) pair[0] = peer_share_stream(pair[0], peer_send_descriptor);
  pthread_mutex_lock(&resuming->lock);
  if (resuming->next >= 0) close(resuming->next);
  resuming->next = pair[0];
  shutdown(resuming->session->stream, SHUT_RDWR);
  pthread_cond_signal(&resuming->changed);
  pthread_mutex_unlock(&resuming->lock);
  text_add(message, "type", "resumed");
  if (*digits) text_add(message, "secret", digits);
  if (peer_shares()) text_add(message, "local", "1");
  text_add(message, "protocol", "1");
  text_send(message, agent);
  peer_send_descriptor(agent, pair[1]);
  close(pair[1]);
  close(agent);
  return true;
}
