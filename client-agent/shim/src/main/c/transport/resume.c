// SPDX-License-Identifier: Apache-2.0
#include "transport/resume.h"

#include "core/background.h"
#include "core/log.h"
#include "transport/agent_resume.h"
#include "transport/calls.h"
#include "transport/control.h"
#include "transport/cut.h"
#include "transport/hold.h"
#include "transport/reader.h"
#include "transport/retained.h"
#include "transport/sealed_stream.h"
#include "transport/sender.h"
#include "transport/session_state.h"
#include "transport/shared_stream.h"
#include "transport/stream_begin.h"
#include "transport/stream_options.h"
#include "transport/suspended.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  FIRST_PAUSE_NANOS = 100000000,
  MOST_PAUSE_NANOS = 1000000000,
  GRACE_NANOS = 500000000,  // after the window: the agent may still tell why the session ended
  ANSWER_MILLIS = 10000,    // within which agent and worker answer
  BURST_SECONDS = 10,
  MOST_IN_BURST = 24,  // cuts after which there is a pause: servers end sessions that resume too often
  PROBLEM_BYTES = 1100,
};

static const uint64_t NANOS = 1000000000;

static double seconds_since(uint64_t nanos) { return (double)(now_nanos() - nanos) / (double)NANOS; }

/** Ends the session, because this connection does not come back. */
static void lose(struct connection *connection, const char *problem) {
  const struct cut *cut = &connection->cut;
  char cause[PROBLEM_BYTES + 512];
  if (!hold_is_over(0, cause, sizeof cause)) {
    snprintf(cause, sizeof cause, "the connection to %s was lost %.1f s ago (%s) and cannot be resumed: %s",
             cut->server, seconds_since(cut->sinceNanos), cut->cause, problem);
  }
  session_lose(CUDA_ERROR_DEVICE_UNAVAILABLE, cause);
}

/** Ends the session if the agent has told why it ended; true if so. */
static bool ended_by_agent(void) {
  char reason[PROBLEM_BYTES];
  if (!agent_reason(session.agent, reason, sizeof reason)) return false;
  session_lose(CUDA_ERROR_DEVICE_UNAVAILABLE, reason);
  return true;
}

static bool receive_all(struct connection *connection, int stream, void *to, size_t bytes) {
  uint8_t *at = to;
  while (bytes) {
    struct iovec rest = {at, bytes};
    ssize_t got = connection->shared.on ? shared_receive(connection, stream, &rest, 1, true) : recv(stream, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= (size_t)got;
  }
  return true;
}

/** The first frame on a later connection. */
struct first_answer {
  struct answer_header header;
  char rest[CONNECTION_TEXT_BYTES + 1];
};

/** Sends the first frame. */
static bool send_first(struct connection *connection, int stream, const struct resume_request *request) {
  if (connection->seal.on) return sealed_send_one(connection, stream, request, sizeof *request);
  if (connection->shared.on) {
    const struct iovec all = {(void *)request, sizeof *request};
    return shared_send(connection, stream, &all, 1) == sizeof *request;
  }
  return send(stream, request, sizeof *request, MSG_NOSIGNAL) == sizeof *request;
}

/** Receives the first frame, which is cut to size. */
static bool receive_first(struct connection *connection, int stream, struct first_answer *answer) {
  const struct answer_header *header = &answer->header;
  memset(answer, 0, sizeof *answer);
  if (connection->seal.on) {
    ssize_t got = sealed_receive_one(connection, stream, answer, sizeof *answer);
    if (got < 0 && errno == EBADMSG) sealed_altered();
    if (got > 0) memset((char *)answer + got, 0, sizeof *answer - (size_t)got);
    return got >= (ssize_t)sizeof *header;
  }
  if (!receive_all(connection, stream, &answer->header, sizeof *header)) return false;
  bool known = header->kind == ANSWER_FATAL || header->kind == ANSWER_RESUMED;
  if (!known || header->length < sizeof *header) return true;
  size_t bytes = header->length - sizeof *header;
  return receive_all(connection, stream, answer->rest, bytes < CONNECTION_TEXT_BYTES ? bytes : CONNECTION_TEXT_BYTES) ||
         header->kind == ANSWER_FATAL;
}

/** The time until the session is given up. */
static uint64_t left_nanos(const struct connection *connection) {
  const struct cut *cut = &connection->cut;
  uint64_t until = cut->sinceNanos + cut->suspendedNanos + cut->windowSeconds * NANOS + GRACE_NANOS, now = now_nanos();
  return now < until ? until - now : 0;
}

/** How long to wait for an answer of agent or worker; not 0, which would be for ever. */
static long patience_millis(const struct connection *connection) {
  uint64_t left = left_nanos(connection) / 1000000 + 1;
  return left < ANSWER_MILLIS ? (long)left : ANSWER_MILLIS;
}

/** Tells the worker where its answers go on, and turns to where it has the requests go on. */
static bool agree(struct connection *connection, int stream) {
  struct resume_request request = {
      .length = sizeof request, .op = CONTROL_RESUME, .received = control_position(connection)};
  struct first_answer answer;
  const struct answer_header *header = &answer.header;
  uint64_t position;
  if (!send_first(connection, stream, &request) || !receive_first(connection, stream, &answer)) return false;
  if (header->kind == ANSWER_FATAL && header->length >= sizeof *header) {
    session_lose(header->result > 0 ? header->result : CUDA_ERROR_DEVICE_UNAVAILABLE, answer.rest);
    return false;
  }
  if (header->kind != ANSWER_RESUMED || header->length != sizeof *header + sizeof position) {
    session_malformed("something else on a resumed stream than its position");
    return false;
  }
  memcpy(&position, answer.rest, sizeof position);
  agent_limit_waits(stream, 0);
  uint64_t acknowledged = retained_begin(connection);
  if (retained_rewind(connection, position)) return true;
  char what[160];
  snprintf(what, sizeof what, "%llu bytes as the position to resume at, after it had acknowledged %llu of %llu",
           (unsigned long long)position, (unsigned long long)acknowledged,
           (unsigned long long)connection->retained.end);
  session_malformed(what);
  return false;
}

/** Puts the new stream in the place of the former one. */
static bool replace(struct connection *connection) {
  int stream = atomic_load(&connection->cut.stream);
  stream_options(stream, true);
  return dup3(stream, connection->stream, O_CLOEXEC) >= 0;
}

static void close_attempt(struct cut *cut) {
  int stream = atomic_exchange(&cut->stream, -1), agent = atomic_exchange(&cut->agent, -1);
  if (stream >= 0) close(stream);
  if (agent >= 0) close(agent);
}

/** Tries once; true if the connection is whole again. */
static bool attempt(struct connection *connection, char *problem) {
  struct cut *cut = &connection->cut;
  // First, so that the agent watches the new stream for the program.
  hold_renew(patience_millis(connection));
  struct stream_terms terms = {0};
  enum resume_answer answer = agent_resume(connection, patience_millis(connection), &terms, problem, PROBLEM_BYTES);
  if (answer == RESUME_SUSPENDED) answer = suspended_wait(connection, &terms, problem, PROBLEM_BYTES);
  if (answer == RESUME_NEVER && !ended_by_agent()) lose(connection, problem);
  bool resumed = false;
  if (answer == RESUME_GRANTED && session_alive()) {
    snprintf(problem, PROBLEM_BYTES, "the new connection broke, too");
    int stream = atomic_load(&cut->stream);
    agent_limit_waits(stream, patience_millis(connection));
    resumed = stream_begin(connection, stream, &terms) && agree(connection, stream) && replace(connection);
  }
  close_attempt(cut);
  return resumed;
}

/** Waits for so long, or until the session is lost. */
static void wait_for(struct connection *connection, uint64_t nanos) {
  struct timespec time = {(time_t)(nanos / NANOS), (long)(nanos % NANOS)};
  futex_wait(&connection->cut.state, CUT_NOW, &time);
}

/** Waits if the connection was cut often of late. */
static void calm(struct connection *connection) {
  struct cut *cut = &connection->cut;
  if (cut->sinceNanos - cut->burstNanos > BURST_SECONDS * NANOS) {
    cut->burstNanos = cut->sinceNanos;
    cut->burst = 0;
  }
  if (++cut->burst > MOST_IN_BURST) wait_for(connection, MOST_PAUSE_NANOS);
}

/** Tries until the connection is whole or the session lost. Both roles are held. */
static void resume(struct connection *connection) {
  char problem[PROBLEM_BYTES] = "no answer";
  uint64_t pause = FIRST_PAUSE_NANOS;
  calm(connection);
  while (session_alive() && !ended_by_agent() && !attempt(connection, problem)) {
    uint64_t left = left_nanos(connection);
    char over[160];
    if (!left || hold_is_over(GRACE_NANOS, over, sizeof over)) lose(connection, problem);
    wait_for(connection, left < pause ? left : pause);
    pause = 2 * pause < MOST_PAUSE_NANOS ? 2 * pause : MOST_PAUSE_NANOS;
  }
}

static void *resume_run(void *argument) {
  struct connection *connection = argument;
  struct cut *cut = &connection->cut;
  prctl(PR_SET_NAME, "gpupool-resume");
  // The threads that have the roles leave them when they see the cut.
  lock_take(&connection->ring.role);
  lock_take(&connection->reader.role);
  if (!ended_by_agent()) {
    log_line(LOG_WARN, "lost the connection to %s (%s); resuming for up to %u s", cut->server, cut->cause,
             cut->windowSeconds);
    control_rewind(connection);
    resume(connection);
  }
  if (session_alive()) {
    log_line(LOG_WARN, "connected to %s again after %.1f s", cut->server, seconds_since(cut->sinceNanos));
    cut_end(connection);
  } else {
    calls_fail(connection, session_answer());
  }
  reader_end(connection);
  lock_release(&connection->ring.role);
  sender_drain(connection);
  return NULL;
}

static void resume_begin(struct connection *connection) {
  if (!background_start(resume_run, connection)) {
    lose(connection, "no thread can be started");
  }
}
ON_CUT(resume_begin);

bool resume_enable(const struct attachment *attachment) {
  if (!attachment->resumeWindow) return true;
  for (uint32_t i = 0; i < connectionCount; i++) {
    const struct attached_connection *attached = &attachment->connections[i];
    struct cut *cut = &connections[i].cut;
    if (!retained_open(&connections[i])) return false;
    snprintf(cut->server, sizeof cut->server, "%s", attached->server);
    snprintf(cut->session, sizeof cut->session, "%s", attached->session);
    snprintf(cut->key, sizeof cut->key, "%s", attached->sessionKey);
    cut->agent = cut->stream = -1;
    connections[i].acknowledgement.askedAfter = UINT64_MAX;
    cut->windowSeconds = attachment->resumeWindow;
  }
  hold_enable(attachment);
  return true;
}
