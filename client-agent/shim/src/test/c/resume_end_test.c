// SPDX-License-Identifier: Apache-2.0
// Sessions that outlive their connections: how they end, and what the agent is asked.
#include "core/log.h"
#include "peer_context.h"
#include "transport/connection.h"
#include "transport/sender.h"

#include <sched.h>
#include <stdatomic.h>

static CUcontext context;

static void begin_resuming(uint32_t window) {
  peer.resumeWindow = window;
  context = begin();
}

static void cut(void) { peer_shut(connections[0].stream); }

/** Cuts the connection, and has the cut noticed. */
static void cut_and_post(void) {
  cut();
  CHECK_OK(op_streamWaitEvent(1, 16, 0, 0));
}

static void await_questions(int count) {
  while (atomic_load(&peerResume.resumes) < count) sched_yield();
}

/** Leaves a stream's waits without an answer. */
static bool leave_waiting(struct peer_session *session, const struct frame *frame) {
  (void)session;
  return frame->op == OP_streamSynchronize;
}

static void *wait_for_stream(void *nothing) {
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_RESULT(46, cuStreamSynchronize(NULL));
  return nothing;
}

/** Cuts the connection while threads wait, none of which may be left behind. */
static void lose_while_threads_wait(void) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  uint32_t before = connections[0].calls.lastTag;
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, wait_for_stream, NULL);
  while (__atomic_load_n(&connections[0].calls.lastTag, __ATOMIC_RELAXED) < before + THREADS) sched_yield();
  cut();
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CUdeviceptr device;
  CHECK_RESULT(46, cuMemAlloc_v2(&device, 1));
  CHECK_RESULT(46, cuCtxSynchronize());
}

static void resume_refused_endsTheSessionAtOnce(void) {
  peerResume.refusal = "type=refused\ncause=refused\nmessage=no such session; it may have ended\n";
  peer.handler = leave_waiting;
  begin_resuming(3600);
  lose_while_threads_wait();
  CHECK(atomic_load(&peerResume.resumes) == 1);
}

/** Loses the session for a window of a second: after it, and soon. */
static void lose_after_the_window(void) {
  peer.handler = leave_waiting;
  begin_resuming(1);
  uint64_t before = now_nanos();
  lose_while_threads_wait();
  uint64_t millis = (now_nanos() - before) / 1000000;
  // A busy machine may take its time.
  CHECK(millis >= 1000 && millis < 10000);
}

static void resume_neverPossible_endsTheSessionSoonAfterTheWindow(void) {
  peerResume.refusal = "type=refused\ncause=unreachable\nmessage=the server is away\n";
  lose_after_the_window();
  CHECK(atomic_load(&peerResume.resumes) >= 4);
}

static void resume_agentDoesNotAnswer_endsTheSessionSoonAfterTheWindow(void) {
  peerResume.silent = true;
  lose_after_the_window();
  CHECK(atomic_load(&peerResume.resumes) == 1);
}

static void resume_serverAwayForAMoment_isTriedAgain(void) {
  begin_resuming(60);
  peerResume.refusal = "type=refused\ncause=unreachable\nmessage=the server is away\n";
  cut_and_post();
  await_questions(2);
  peerResume.refusal = NULL;
  CHECK_OK(cuCtxSynchronize());
}

static void resume_atAPositionNeverSent_endsTheSession(void) {
  peerResume.shift = 1 << 20;
  begin_resuming(60);
  cut();
  CHECK_RESULT(46, cuCtxSynchronize());
}

static void resume_beforeWhatWasAcknowledged_endsTheSession(void) {
  begin_resuming(60);
  CUdeviceptr device;
  uint8_t *memory = calloc(1, 2 * ACKNOWLEDGE_BYTES);
  CHECK_OK(cuMemAlloc_v2(&device, 2 * ACKNOWLEDGE_BYTES));
  CHECK_OK(cuMemcpyHtoD_v2(device, memory, 2 * ACKNOWLEDGE_BYTES));
  CHECK_OK(cuCtxSynchronize());
  CHECK(atomic_load(&connections[0].retained.begin) > 0);
  peerResume.shift = -2 * ACKNOWLEDGE_BYTES;
  cut();
  CHECK_RESULT(46, cuCtxSynchronize());
}

static void resume_withinAFrame_endsTheSession(void) {
  enum { BYTES = 64 << 10 };  // sent from where it lies
  begin_resuming(60);
  CUdeviceptr device;
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  peerResume.shift = 8;
  peerResume.live[0]->inLeft = 1000;
  cuMemcpyHtoDAsync_v2(device, calloc(1, BYTES), BYTES, NULL);
  CHECK_RESULT(46, cuCtxSynchronize());
}

static bool acknowledge_too_much(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_ctxGetLimit) return false;
  peer_position(session, ANSWER_ACK, 0, session->resuming->taken + 8);
  return true;
}

static void acknowledgement_ofWhatWasNeverSent_endsTheSession(void) {
  peer.handler = acknowledge_too_much;
  begin_resuming(60);
  size_t value;
  CHECK_RESULT(46, cuCtxGetLimit(&value, 0));
}

static bool ask_for_acknowledgement(struct peer_session *session, const struct frame *frame) {
  if (frame->op == OP_ctxGetLimit) peer_position(session, ANSWER_ACK, 1, session->resuming->taken);
  return false;
}

static void acknowledgement_wanted_isSentAtOnce(void) {
  peer.handler = ask_for_acknowledgement;
  begin_resuming(60);
  size_t value;
  CHECK_OK(cuCtxGetLimit(&value, 0));
  while (atomic_load(&peerResume.clientAcknowledged) == 0) sched_yield();
}

static bool end_fatally(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_ctxGetLimit) return false;
  peer_answer(session, ANSWER_FATAL, 0, 719, "the worker crashed", 18);
  return true;
}

static void fatalFrame_beforeTheConnectionEnds_isTheReason(void) {
  peer.handler = end_fatally;
  begin_resuming(60);
  size_t value;
  CHECK_RESULT(719, cuCtxGetLimit(&value, 0));
  CHECK_RESULT(719, cuCtxSynchronize());
}

static void reason_toldByTheAgent_endsTheSession(void) {
  begin_resuming(60);
  struct text_message message;
  text_begin(&message);
  text_add(&message, "type", "ended");
  text_add(&message, "message", "its lease is over");
  text_send(&message, peerResume.live[0]->session->agent);
  cut();
  CHECK_RESULT(46, cuCtxSynchronize());
  CHECK(atomic_load(&peerResume.resumes) == 0);
}

static void check_asked(const char *key, const char *expected) {
  char value[80];
  text_get(&peer.asked, key, value, sizeof value);
  CHECK(strcmp(value, expected) == 0);
}

static void question_namesTheSession(void) {
  setenv("GPUPOOL_LEASE", "lease.secret", 1);
  begin_resuming(60);
  cut();
  CHECK_OK(cuCtxSynchronize());
  check_asked("type", "resume");
  check_asked("protocol", "1");
  check_asked("session", "s1");
  check_asked("session_key", "0000000000000000000000000000000000000000000000000000000000000000");
  check_asked("server", "named");
  check_asked("resume_window", "60");
  check_asked("lease", "lease.secret");
  check_asked("holds", "0");
}

static void relayedStream_cut_isTheEnd(void) {
  peer.relay = true;
  begin_resuming(60);
  cut();
  CHECK_RESULT(46, cuCtxSynchronize());
  CHECK(atomic_load(&peerResume.resumes) == 0);
}

static void oneOfSeveralConnections_cut_goesOn(void) {
  CUcontext other;
  peer.connections = 2;
  begin_resuming(60);
  CHECK_OK(cuDevicePrimaryCtxRetain(&other, 1));
  for (int i = 0; i < 20; i++) {
    shutdown(connections[i % 2].stream, SHUT_RDWR);
    CHECK_OK(cuCtxSetCurrent(context));
    CHECK_OK(cuCtxSynchronize());
    CHECK_OK(cuCtxSetCurrent(other));
    CHECK_OK(cuCtxSynchronize());
  }
}

static void fork_whileTheConnectionIsCut_startsAfresh(void) {
  begin_resuming(60);
  peerResume.refusal = "type=refused\ncause=unreachable\nmessage=the server is away\n";
  cut_and_post();
  await_questions(1);
  pid_t child = fork();
  if (child == 0) {
    alarm(120);
    CUcontext other;
    CHECK_OK(cuInit(0));
    CHECK_OK(cuDevicePrimaryCtxRetain(&other, 0));
    CHECK_OK(cuCtxSetCurrent(other));
    CHECK_OK(cuCtxSynchronize());
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  // The child's session took the place of the one session that the agent has here.
  peerResume.refusal = "type=refused\ncause=refused\nmessage=no such session\n";
  CHECK_RESULT(46, cuCtxSynchronize());
}

// The end of the process

static _Atomic int ended;  // sessions whose last request was goodbye

static bool count_goodbye(struct peer_session *session, const struct frame *frame) {
  (void)session;
  if (frame->op == OP_goodbye) atomic_fetch_add(&ended, 1);
  return frame->op == OP_goodbye;
}

static void launch_and_exit(void) {
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_OK(op_streamWaitEvent(1, 16, 0, 0));
  exit(0);
}

static void exit_ofTheProgram_isToldToTheWorker(void) {
  peer.handler = count_goodbye;
  peer.resumeWindow = 60;
  peer_start(&peer);
  pid_t child = fork();
  if (child == 0) launch_and_exit();
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  while (atomic_load(&ended) < 1) sched_yield();
}

static bool stop_reading(struct peer_session *session, const struct frame *frame) {
  (void)session;
  while (frame->op == OP_memcpyHtoD) pause();
  return false;
}

static void *send_for_ever(void *memory) {
  CUdeviceptr device;
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_OK(cuMemAlloc_v2(&device, 1 << 20));
  while (cuMemcpyHtoD_v2(device, memory, 1 << 20) == CUDA_SUCCESS) continue;
  return NULL;
}

static void fill_stream_and_exit(void) {
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
  pthread_t thread;
  pthread_create(&thread, NULL, send_for_ever, calloc(1, 1 << 20));
  const struct retained *retained = &connections[0].retained;
  while (__atomic_load_n(&retained->end, __ATOMIC_RELAXED) < 2 << 20) sched_yield();
  exit(0);
}

static void exit_whileTheWorkerDoesNotRead_doesNotHang(void) {
  peer.handler = stop_reading;
  peer.resumeWindow = 60;
  peer_start(&peer);
  pid_t child = fork();
  if (child == 0) fill_stream_and_exit();
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void cut_and_exit(void) {
  CHECK_OK(cuInit(0));
  cut_and_post();
  while (!atomic_load(&connections[0].cut.state)) sched_yield();
  exit(0);
}

static void exit_whileTheConnectionIsCut_doesNotWait(void) {
  peerResume.refusal = "type=refused\ncause=unreachable\nmessage=the server is away\n";
  peer.handler = count_goodbye;
  peer.resumeWindow = 3600;
  peer_start(&peer);
  pid_t child = fork();
  if (child == 0) cut_and_exit();
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(atomic_load(&ended) == 0);
}

int main(void) {
  CASE(resume_refused_endsTheSessionAtOnce);
  CASE(resume_neverPossible_endsTheSessionSoonAfterTheWindow);
  CASE(resume_agentDoesNotAnswer_endsTheSessionSoonAfterTheWindow);
  CASE(resume_serverAwayForAMoment_isTriedAgain);
  CASE(resume_atAPositionNeverSent_endsTheSession);
  CASE(resume_beforeWhatWasAcknowledged_endsTheSession);
  CASE(resume_withinAFrame_endsTheSession);
  CASE(acknowledgement_ofWhatWasNeverSent_endsTheSession);
  CASE(acknowledgement_wanted_isSentAtOnce);
  CASE(fatalFrame_beforeTheConnectionEnds_isTheReason);
  CASE(reason_toldByTheAgent_endsTheSession);
  CASE(question_namesTheSession);
  CASE(relayedStream_cut_isTheEnd);
  CASE(oneOfSeveralConnections_cut_goesOn);
  CASE(fork_whileTheConnectionIsCut_startsAfresh);
  CASE(exit_ofTheProgram_isToldToTheWorker);
  CASE(exit_whileTheWorkerDoesNotRead_doesNotHang);
  CASE(exit_whileTheConnectionIsCut_doesNotWait);
  return test_result();
}
