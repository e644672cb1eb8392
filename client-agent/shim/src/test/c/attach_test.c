// SPDX-License-Identifier: Apache-2.0
// Attaching to an agent and a worker, and what the program is told of it.
#include "harness.h"
#include "peer_context.h"
#include "shim.h"

#include "exports.h"

static const char diagnosis[] = "gpupool: CUDA_ERROR_NOT_SUPPORTED: kernel f\n";

static void call_beforeInit_isNotInitialized(void) {
  int count;
  const char *name;
  CHECK_RESULT(3, cuDeviceGetCount(&count));
  CHECK_OK(cuGetErrorName(3, &name));
  CHECK(strcmp(name, "CUDA_ERROR_NOT_INITIALIZED") == 0);
}

static void init_noAgent_isNotReady(void) {
  setenv("GPUPOOL_AGENT", "@gpupool-test-nobody", 1);
  CHECK_RESULT(802, cuInit(0));
  CHECK_RESULT(802, cuInit(0));
}

static void init_silentAgent_isNotReady(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char name[sizeof address.sun_path];
  // The tests of another checkout may run beside these.
  int length = snprintf(name, sizeof name, "@gpupool-test-silent-%d", (int)getpid());
  memcpy(address.sun_path + 1, name + 1, (size_t)length - 1);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK_OK(bind(listener, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length)));
  CHECK_OK(listen(listener, 1));
  setenv("GPUPOOL_AGENT", name, 1);
  setenv("GPUPOOL_ATTACH_TIMEOUT", "1", 1);
  CHECK_RESULT(802, cuInit(0));
}

static void say_nothing(struct peer_session *session) { (void)session; }

static void init_silentWorker_isNotReady(void) {
  setenv("GPUPOOL_ATTACH_TIMEOUT", "1", 1);
  peer.welcome = say_nothing;
  peer_start(&peer);
  CHECK_RESULT(802, cuInit(0));
}

static void init_refusedLease_isNoDevice(void) {
  peer.refusal = "type=refused\ncause=refused\nmessage=no GPU is free\n";
  peer_start(&peer);
  CHECK_RESULT(100, cuInit(0));
}

static void init_otherContract_isNotReady(void) {
  peer.digestError = 1;
  peer_start(&peer);
  CHECK_RESULT(802, cuInit(0));
}

static void attach_driversVariables_areToldByName(void) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  setenv("CUDA_CACHE_PATH", "/nowhere", 1);
  setenv("CUDA_MODULE_LOADING", "LAZYLAZYLAZYLAZYLAZY", 1);
  begin();
  CHECK(strstr(peer.asked.text, "\nCUDA_DEVICE_MAX_CONNECTIONS=1\n"));
  CHECK(!strstr(peer.asked.text, "CUDA_CACHE_PATH"));
  CHECK(!strstr(peer.asked.text, "CUDA_MODULE_LOADING"));
}

static void visibleDevices_none_isNoDevice(void) {
  peer_start(&peer);
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  CHECK_RESULT(100, cuInit(0));
  CHECK(peer.sessions == 0);
}

static void visibleDevices_unknown_isNoDevice(void) {
  peer_start(&peer);
  setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
  CHECK_RESULT(100, cuInit(0));
}

static void visibleDevices_namedByUuid_areSeen(void) {
  int count = 0;
  setenv("CUDA_VISIBLE_DEVICES", " GPU-5A5A,7", 1);
  begin();
  CHECK_OK(cuDeviceGetCount(&count));
  CHECK(count == 1);
}

/** Refuses what was launched, with the diagnosis ahead of the result code, as the software GPU does. */
static bool refuse_launch(struct peer_session *session, const struct frame *frame) {
  enum { DIAGNOSTICS = 3 };
  if (frame->op != OP_ctxSynchronize) return false;
  peer_answer(session, ANSWER_OUTPUT, DIAGNOSTICS, sizeof diagnosis - 1, diagnosis, sizeof diagnosis - 1);
  peer_reply(session, frame, 801, NULL, 0);
  return true;
}

/** Checks what a refused launch puts on standard error where GPUPOOL_LOG has this value. */
static void check_diagnostics(const char *level, const char *expected) {
  char errors[1024] = "";
  FILE *file = tmpfile();
  setenv("GPUPOOL_LOG", level, 1);
  peer.handler = refuse_launch;
  begin();
  CHECK(dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
  CHECK_RESULT(801, cuCtxSynchronize());
  rewind(file);
  size_t length = fread(errors, 1, sizeof errors - 1, file);
  CHECK(length == strlen(expected) && strcmp(errors, expected) == 0);
}

static void diagnostics_byDefault_areOnStandardError(void) { check_diagnostics("", diagnosis); }

static void diagnostics_atWarn_areOnStandardError(void) { check_diagnostics("warn", diagnosis); }

static void diagnostics_atError_areDropped(void) { check_diagnostics("error", ""); }

static void diagnostics_turnedOff_areDropped(void) { check_diagnostics("off", ""); }

/** Says on the agent's socket that the lease has ended, and ends the call stream without an answer. */
static bool end_lease(struct peer_session *session, const struct frame *frame) {
  static struct text_message message;
  if (frame->op != OP_ctxSynchronize) return false;
  text_begin(&message);
  text_add(&message, "type", "ended");
  text_add(&message, "message", "the lease has ended: its time is over");
  text_send(&message, session->agent);
  shutdown(session->stream, SHUT_RDWR);
  return true;
}

static void wait_whileTheLeaseEnds_failsWithTheAgentsReason(void) {
  char said[1024] = "";
  FILE *errors = tmpfile();
  peer.handler = end_lease;
  begin();
  CHECK(dup2(fileno(errors), STDERR_FILENO) == STDERR_FILENO);
  CHECK_RESULT(46, cuCtxSynchronize());
  rewind(errors);
  CHECK(fread(said, 1, sizeof said - 1, errors) > 0);
  CHECK(strstr(said, "the session is lost: the lease has ended: its time is over; CUDA calls now fail"));
}

int main(void) {
  CASE(visibleDevices_none_isNoDevice);
  CASE(visibleDevices_unknown_isNoDevice);
  CASE(visibleDevices_namedByUuid_areSeen);
  CASE(call_beforeInit_isNotInitialized);
  CASE(init_noAgent_isNotReady);
  CASE(init_silentAgent_isNotReady);
  CASE(init_silentWorker_isNotReady);
  CASE(init_refusedLease_isNoDevice);
  CASE(init_otherContract_isNotReady);
  CASE(attach_driversVariables_areToldByName);
  CASE(diagnostics_byDefault_areOnStandardError);
  CASE(diagnostics_atWarn_areOnStandardError);
  CASE(diagnostics_atError_areDropped);
  CASE(diagnostics_turnedOff_areDropped);
  CASE(wait_whileTheLeaseEnds_failsWithTheAgentsReason);
  return test_result();
}
