// SPDX-License-Identifier: Apache-2.0
// Sealed call streams that somebody on the way tampers with.
#include "peer_context.h"
#include "transport/connection.h"

#include <stdatomic.h>

/** Begins with a sealed session that can be resumed. */
static void begin_sealed(void) {
  setenv("PEER_SEALED", "1", 1);
  peer.resumeWindow = 60;
  begin();
  CHECK(connections[0].seal.on);
  CHECK_OK(cuCtxSynchronize());
}

/** Reads what this process wrote to a pipe in place of stderr. */
static void check_said(int from, const char *text) {
  char said[4096];
  fflush(stderr);
  ssize_t got = read(from, said, sizeof said - 1);
  CHECK(got > 0);
  said[got] = '\0';
  CHECK(strstr(said, text));
}

/** The next answers are spoiled, until a call fails: for good, with the reason, and without another connection. */
static void check_ends(enum peer_spoiling spoiling) {
  int pipes[2];
  begin_sealed();
  CHECK(pipe(pipes) == 0);
  int kept = dup(2);
  dup2(pipes[1], 2);
  atomic_store(&peerSpoiling, spoiling);
  CUresult result = CUDA_SUCCESS;
  for (int i = 0; i < 2 && !result; i++) result = cuCtxSynchronize();
  dup2(kept, 2);
  CHECK_RESULT(CUDA_ERROR_DEVICE_UNAVAILABLE, result);
  CHECK_RESULT(CUDA_ERROR_DEVICE_UNAVAILABLE, cuCtxSynchronize());
  check_said(pipes[0], "the session is lost: a record of its call stream was altered");
  CHECK(atomic_load(&peerResume.resumes) == 0);
}

static void record_altered_endsTheSession(void) { check_ends(PEER_FLIP); }

static void record_replayed_endsTheSession(void) { check_ends(PEER_REPLAY); }

static void record_truncated_isACutLikeAnyOther(void) {
  begin_sealed();
  atomic_store(&peerSpoiling, PEER_TRUNCATE);
  CHECK_OK(cuCtxSynchronize());
  CHECK(atomic_load(&peerResume.resumes) == 1);
}

/** So that the second one, which opens no more, is what the program hears. */
static bool answer_twice(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_ctxSynchronize) return false;
  peer_answer(session, ANSWER_OUTPUT, 2, 0, NULL, 0);
  usleep(100000);
  peer_reply(session, frame, 0, NULL, 0);
  return true;
}

static void record_leftOut_endsTheSession(void) {
  peer.handler = answer_twice;
  check_ends(PEER_LEAVE_OUT);
}

int main(void) {
  CASE(record_altered_endsTheSession);
  CASE(record_replayed_endsTheSession);
  CASE(record_leftOut_endsTheSession);
  CASE(record_truncated_isACutLikeAnyOther);
  return test_result();
}
