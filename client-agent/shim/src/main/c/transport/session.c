// SPDX-License-Identifier: Apache-2.0
#include "transport/session.h"

#include "transport/agent.h"
#include "stream/launch_blocking.h"
#include "context/device.h"
#include "core/fork.h"
#include "transport/connection.h"
#include "core/lock.h"
#include "core/log.h"
#include "ops.h"
#include "shim.h"
#include "core/trace.h"
#include "context/visible_devices.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/** The descriptors of the session, each once: call streams, then the agent's if it is none of them. */
static uint32_t descriptors(int list[MAX_CONNECTIONS + 1]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < connectionCount; i++) list[count++] = connections[i].stream;
  if (session.agent != connections[0].stream) list[count++] = session.agent;
  return count;
}

static void close_all(void) {
  int list[MAX_CONNECTIONS + 1];
  for (uint32_t i = descriptors(list); i; i--) close(list[i - 1]);
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
  devices_select();
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
    op_links(connection_no_context(i), i, peers, used);
    ring_flush(&connections[i]);
  }
}

static CUresult attach(void) {
  log_configure();
  if (logLevel == LOG_DEBUG) watching |= WATCH_LOG;
  fork_watch();
  blocking_configure();
  // As a driver without devices: no word about it.
  if (visible_none()) return CUDA_ERROR_NO_DEVICE;
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
    int on = 1;
    connections[i].stream = attachment->connections[i].stream;
    setsockopt(connections[i].stream, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    opened &= ring_open(&connections[i]) && replies_open(&connections[i]);
  }
  set_state(SESSION_ATTACHED);
  result = opened ? read_welcomes() : CUDA_ERROR_OUT_OF_MEMORY;
  if (result) {
    set_state(SESSION_NONE);
    close_all();
    free(attachment);
    return result;
  }
  introduce(attachment);
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

/** Marks the session as lost, for whoever does so first. */
static bool become_lost(CUresult failure) {
  int expected = SESSION_READY;
  session.failure = failure;
  return __atomic_compare_exchange_n(&session.state, &expected, SESSION_LOST, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST) ||
         (expected == SESSION_ATTACHED &&
          __atomic_compare_exchange_n(&session.state, &expected, SESSION_LOST, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST));
}

static void give_up(const char *cause) {
  log_line(LOG_ERROR, "the session is lost: %s; CUDA calls now fail, start the program again", cause);
  int list[MAX_CONNECTIONS + 1];
  for (uint32_t i = descriptors(list); i; i--) shutdown(list[i - 1], SHUT_RDWR);
  for (uint32_t i = 0; i < connectionCount; i++) {
    ring_lost(&connections[i]);
    replies_lost(&connections[i]);
  }
  trace_write();
}

CUresult session_lose(CUresult failure, const char *cause) {
  if (become_lost(failure)) give_up(cause);
  return session_answer();
}

CUresult session_broken(const char *cause) {
  char reason[512];
  if (become_lost(CUDA_ERROR_DEVICE_UNAVAILABLE)) {
    bool known = session.agent != connections[0].stream && agent_reason(session.agent, reason, sizeof reason);
    give_up(known ? reason : cause);
  }
  return session_answer();
}

CUresult session_malformed(const char *what) {
  char cause[256];
  snprintf(cause, sizeof cause, "the worker sent %s", what);
  return session_lose(CUDA_ERROR_DEVICE_UNAVAILABLE, cause);
}

void session_reset(void) {
  if (session_alive() || session.state == SESSION_LOST) close_all();
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
