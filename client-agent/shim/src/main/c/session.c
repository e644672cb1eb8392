// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include "agent.h"
#include "device.h"
#include "fork.h"
#include "lock.h"
#include "log.h"
#include "replies.h"
#include "ring.h"
#include "shim.h"
#include "trace.h"
#include "visible.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct session session;

static struct {
  struct lock lock;
  bool tried;
  CUresult failure;  // why there is no session, once tried
} attaching;

CUresult session_answer(void) {
  int state = __atomic_load_n(&session.state, __ATOMIC_ACQUIRE);
  return state == SESSION_LOST ? session.failure : CUDA_ERROR_NOT_INITIALIZED;
}

static void set_state(int state) { __atomic_store_n(&session.state, state, __ATOMIC_SEQ_CST); }

static CUresult fail(CUresult failure, const char *problem) {
  log_line(LOG_ERROR, "%s (%s)", problem,
           failure == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_SYSTEM_NOT_READY");
  return failure;
}

/** Reads what the worker says first; the session is attached. */
static CUresult read_welcome(void) {
  uint32_t bytes = 0;
  uint8_t *welcome = replies_welcome(&bytes);
  if (!welcome) return CUDA_ERROR_SYSTEM_NOT_READY;  // said so already
  const char *problem = devices_load(welcome, bytes);
  free(welcome);
  if (problem) return fail(CUDA_ERROR_SYSTEM_NOT_READY, problem);
  if (devices_count() > 0) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_NO_DEVICE, "no GPU of the session is among CUDA_VISIBLE_DEVICES");
}

static CUresult attach(void) {
  log_configure();
  if (logLevel == LOG_DEBUG) watching |= WATCH_LOG;
  fork_watch();
  // As a driver without devices: no word about it.
  if (visible_none()) return CUDA_ERROR_NO_DEVICE;
  if (!ring_open() || !replies_open()) return CUDA_ERROR_OUT_OF_MEMORY;
  struct attachment attachment;
  char problem[1100];
  uint64_t start = now_nanos();
  CUresult result = agent_attach(&attachment, problem, sizeof problem);
  if (result) return fail(result, problem);
  session.agent = attachment.agent;
  session.stream = attachment.stream;
  int on = 1;
  setsockopt(session.stream, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  set_state(SESSION_ATTACHED);
  result = read_welcome();
  if (result) {
    set_state(SESSION_NONE);
    close(session.stream);
    if (session.agent != session.stream) close(session.agent);
    return result;
  }
  log_line(LOG_INFO, "session %s on %s, attached in %llu ms", attachment.session, attachment.server,
           (unsigned long long)((now_nanos() - start) / 1000000));
  return CUDA_SUCCESS;
}

CUresult session_attach(void) {
  lock_take(&attaching.lock);
  if (!attaching.tried) {
    attaching.failure = attach();
    attaching.tried = true;
  }
  CUresult result = attaching.failure;
  lock_release(&attaching.lock);
  return result;
}

CUresult session_lose(CUresult failure, const char *cause) {
  int expected = SESSION_READY;
  session.failure = failure;
  bool first = __atomic_compare_exchange_n(&session.state, &expected, SESSION_LOST, false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
               (expected == SESSION_ATTACHED &&
                __atomic_compare_exchange_n(&session.state, &expected, SESSION_LOST, false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  if (first) {
    log_line(LOG_ERROR, "the session is lost: %s; CUDA calls now fail, start the program again", cause);
    shutdown(session.stream, SHUT_RDWR);
    if (session.agent != session.stream) shutdown(session.agent, SHUT_RDWR);
    ring_lost();
    replies_lost();
    trace_write();
  }
  return session_answer();
}

CUresult session_malformed(const char *what) {
  char cause[256];
  snprintf(cause, sizeof cause, "the worker sent %s", what);
  return session_lose(CUDA_ERROR_DEVICE_UNAVAILABLE, cause);
}

void session_reset(void) {
  if (session_alive() || session.state == SESSION_LOST) {
    close(session.stream);
    if (session.agent != session.stream) close(session.agent);
  }
  session = (struct session){0};
  attaching.lock.word = 0;
  attaching.tried = false;
  attaching.failure = 0;
}

CUresult shim_cuInit(unsigned int Flags) {
  if (Flags) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = session_attach();
  if (result) return result;
  int expected = SESSION_ATTACHED;
  __atomic_compare_exchange_n(&session.state, &expected, SESSION_READY, false, __ATOMIC_SEQ_CST,
                              __ATOMIC_SEQ_CST);
  return session_ready() ? CUDA_SUCCESS : session_answer();
}
