// SPDX-License-Identifier: Apache-2.0
#include "transport/session.h"

#include "core/fork.h"
#include "core/lock.h"
#include "core/log.h"
#include "core/trace.h"
#include "ops.h"
#include "shim.h"
#include "transport/agent.h"
#include "transport/connection.h"
#include "transport/device_table.h"
#include "transport/reader.h"
#include "transport/replies.h"
#include "transport/resume.h"
#include "transport/ring.h"
#include "transport/sender.h"
#include "transport/stream_begin.h"
#include "transport/stream_options.h"
#include "transport/visible_devices.h"
#include "transport/watch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

HOOK_TABLE(attach, attach_hook);

static struct {
  struct lock lock;
  bool tried;
  CUresult failure;  // why there is no session, once tried
} attaching;

static void set_state(int state) { atomic_store(&session.state, state); }

static CUresult fail(CUresult failure, const char *problem) {
  log_line(LOG_ERROR, "%s (%s)", problem,
           failure == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_SYSTEM_NOT_READY");
  return failure;
}

static void close_all(void) {
  int list[SESSION_DESCRIPTORS];
  for (uint32_t i = session_descriptors(list); i; i--) close(list[i - 1]);
}

/** Ends a session that has not begun. A thread that resumes one of its connections may still use the descriptors. */
static void abandon(void) {
  int list[SESSION_DESCRIPTORS];
  bool cut = false;
  set_state(SESSION_NONE);
  for (uint32_t i = 0; i < connectionCount; i++) cut |= connections[i].cut.sinceNanos != 0;
  for (uint32_t i = session_descriptors(list); i; i--) shutdown(list[i - 1], SHUT_RDWR);
  if (!cut) close_all();
}

/** Reads what each worker says first; the session is attached. */
static CUresult read_welcomes(void) {
  for (uint32_t i = 0; i < connectionCount; i++) {
    uint32_t bytes = 0;
    uint8_t *welcome = replies_welcome(&connections[i], &bytes);
    if (!welcome) return CUDA_ERROR_SYSTEM_NOT_READY;  // said so already
    const char *problem = devices_load(i, welcome, bytes);
    free(welcome);
    if (problem) return fail(CUDA_ERROR_SYSTEM_NOT_READY, problem);
  }
  visible_devices_select();
  if (devices_count() > 0) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_NO_DEVICE, "no GPU of the session is among CUDA_VISIBLE_DEVICES");
}

static size_t append(char *to, const char *text) {
  size_t bytes = strlen(text) + 1;
  memcpy(to, text, bytes);
  return bytes;
}

/** Tells the workers of each other. */
static void introduce(const struct attachment *attachment) {
  if (attachment->connectionCount == 1) return;
  char peers[MAX_CONNECTIONS * sizeof(struct attached_connection)];
  size_t used = 0;
  for (uint32_t i = 0; i < attachment->connectionCount; i++) {
    const struct attached_connection *connection = &attachment->connections[i];
    used += append(peers + used, connection->address);
    used += append(peers + used, connection->session);
    used += append(peers + used, connection->peerKey);
  }
  for (uint32_t i = 0; i < attachment->connectionCount; i++) {
    op_connections(connection_no_context(i), i, peers, used);
    sender_flush(&connections[i]);
  }
}

static CUresult attach(void) {
  log_configure();
  if (logLevel == LOG_DEBUG) watching |= WATCH_LOG;
  fork_watch();
  FOR_EACH_HOOK(attach, attach_hook, hook) (*hook)();
  // Like a driver without devices, this says nothing.
  if (visible_devices_none()) return CUDA_ERROR_NO_DEVICE;
  struct attachment *attachment = calloc(1, sizeof *attachment);
  if (!attachment) return CUDA_ERROR_OUT_OF_MEMORY;
  char problem[1100];
  uint64_t start = now_nanos();
  CUresult result = agent_attach(attachment, problem, sizeof problem);
  if (result) {
    free(attachment);
    return fail(result, problem);
  }
  session.agent = attachment->agent;
  connectionCount = attachment->connectionCount;
  bool opened = true;
  for (uint32_t i = 0; i < connectionCount; i++) {
    connections[i].stream = attachment->connections[i].stream;
    stream_options(connections[i].stream, attachment->resumeWindow != 0);
    agent_limit_waits(connections[i].stream, 1000L * agent_patience());
    opened &= ring_open(&connections[i]) && reader_open(&connections[i]) &&
              stream_begin(&connections[i], connections[i].stream, &attachment->connections[i].terms);
  }
  opened = opened && resume_enable(attachment);
  set_state(SESSION_ATTACHED);
  result = opened ? read_welcomes() : CUDA_ERROR_OUT_OF_MEMORY;
  if (result) {
    abandon();
    free(attachment);
    return result;
  }
  introduce(attachment);
  watch_begin();
  for (uint32_t i = 0; i < connectionCount; i++) {
    log_line(LOG_INFO, "session %s on %s, attached in %llu ms", attachment->connections[i].session,
             attachment->connections[i].server, (unsigned long long)((now_nanos() - start) / 1000000));
  }
  free(attachment);
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

ON_SESSION_LOST(trace_write);

/** Tells the workers that the program has ended: a broken connection alone would leave them waiting for it. */
static void say_goodbye(void) {
  enum { PATIENCE_NANOS = 1000000000 };
  if (!connection_resumable(&connections[0]) || !session_alive()) return;
  const uint64_t frame = FRAME(sizeof frame, OP_goodbye, 0);
  uint64_t until = now_nanos() + PATIENCE_NANOS;
  for (uint32_t i = 0; i < connectionCount; i++) sender_last(&connections[i], &frame, sizeof frame, until);
  session_end();
}

/**
 * Runs at the end of a process that used CUDA, after the functions of atexit and the destructors of what needs the
 * library: the CUDA runtime's own end has made its calls.
 */
__attribute__((destructor)) static void finish(void) {
  if (session.state != SESSION_NONE) trace_write();
  say_goodbye();
}

static void session_reset(void) {
  if (session_alive() || session.state == SESSION_LOST) close_all();
  connections_reset();
  session = (struct session){0};
  attaching.lock.word = 0;
  attaching.tried = false;
  attaching.failure = 0;
}

ON_FORK(session_reset);

CUresult shim_cuInit(unsigned int Flags) {
  if (Flags) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = session_attach();
  if (result) return result;
  int expected = SESSION_ATTACHED;
  atomic_compare_exchange_strong(&session.state, &expected, SESSION_READY);
  return session_ready() ? CUDA_SUCCESS : session_answer();
}
