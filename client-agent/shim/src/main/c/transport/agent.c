// SPDX-License-Identifier: Apache-2.0
#include "transport/agent.h"

#include "core/log.h"
#include "transport/agent_socket.h"
#include "transport/descriptors.h"
#include "transport/text_message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROTOCOL "1"

/** The name of the program's file. */
static void program_name(char *name, size_t bytes) {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  const char *slash = strrchr(path, '/');
  const char *last = slash ? slash + 1 : path;
  size_t kept = strnlen(last, bytes - 1);
  memcpy(name, last, kept);
  name[kept] = '\0';
}

static void add_environment(struct text_message *message, const char *key, const char *variable) {
  const char *value = getenv(variable);
  if (value && *value) text_add(message, key, value);
}

static void add_token(struct text_message *message) {
  const char *file = getenv("GPUPOOL_TOKEN_FILE");
  const char *token = getenv("GPUPOOL_TOKEN");
  if ((token && *token) || !file || !*file) {
    add_environment(message, "token", "GPUPOOL_TOKEN");
    return;
  }
  char line[4096] = "";
  FILE *stream = fopen(file, "re");
  if (!stream || !fgets(line, sizeof line, stream)) {
    log_line(LOG_WARN, "cannot read the token in %s (GPUPOOL_TOKEN_FILE)", file);
  }
  if (stream) fclose(stream);
  line[strcspn(line, "\r\n")] = '\0';
  if (*line) text_add(message, "token", line);
}

void agent_introduce(struct text_message *message, const char *type) {
  char number[16], name[256];
  snprintf(number, sizeof number, "%ld", (long)getpid());
  program_name(name, sizeof name);
  text_begin(message);
  text_add(message, "type", type);
  text_add(message, "protocol", PROTOCOL);
  text_add(message, "pid", number);
  text_add(message, "program", name);
  add_environment(message, "lease", "GPUPOOL_LEASE");
  add_token(message);
  add_environment(message, "pool", "GPUPOOL_POOL");
}

void agent_describe(struct text_message *message, const char *type) {
  agent_introduce(message, type);
  add_environment(message, "gpus", "GPUPOOL_GPUS");
  add_environment(message, "fraction", "GPUPOOL_FRACTION");
  add_environment(message, "memory", "GPUPOOL_MEMORY");
  add_environment(message, "compute", "GPUPOOL_COMPUTE");
  add_environment(message, "class", "GPUPOOL_CLASS");
  add_environment(message, "idle_timeout", "GPUPOOL_IDLE_TIMEOUT");
  add_environment(message, "time_limit", "GPUPOOL_TIME_LIMIT");
  add_environment(message, "resume_window", "GPUPOOL_RESUME_WINDOW");
  add_environment(message, "suspend_idle", "GPUPOOL_SUSPEND_IDLE");
}

/** Adds the variables that the driver on the server reads. The server checks their values. */
static void add_driver_environment(struct text_message *message) {
  static const char *const names[] = {
      "CUDA_AUTO_BOOST",
      "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
      "CUDA_DEVICE_MAX_CONNECTIONS",
      "CUDA_DISABLE_JIT",
      "CUDA_DISABLE_PTX_JIT",
      "CUDA_FORCE_JIT",
      "CUDA_FORCE_PTX_JIT",
      "CUDA_GRAPHS_USE_NODE_PRIORITY",
      "CUDA_MODULE_DATA_LOADING",
      "CUDA_MODULE_LOADING",
      "CUDA_SCALE_LAUNCH_QUEUES",
  };
  enum { MAX_VALUE_BYTES = 16 };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (!value || !*value) continue;
    if (strlen(value) <= MAX_VALUE_BYTES) {
      text_add(message, names[i], value);
    } else {
      log_line(LOG_WARN, "%s is ignored: its value has more than %d characters", names[i], MAX_VALUE_BYTES);
    }
  }
}

static void say_silent(char *problem, size_t problemBytes) {
  snprintf(problem, problemBytes,
           "the agent has been silent for %d s (GPUPOOL_ATTACH_TIMEOUT): look at the agent's log, and"
           " start it again",
           agent_patience());
}

/** A value of one connection: the key alone, or with the connection's number where there are several. */
static void connection_get(struct text_message *answer, const char *key, uint32_t connection, char *value,
                           size_t bytes) {
  char numbered[32];
  snprintf(numbered, sizeof numbered, connection == UINT32_MAX ? "%s" : "%s.%u", key, connection);
  text_get(answer, numbered, value, bytes);
}

static void describe_connection(struct text_message *answer, uint32_t connection,
                                struct attached_connection *attached) {
  connection_get(answer, "server", connection, attached->server, sizeof attached->server);
  connection_get(answer, "session", connection, attached->session, sizeof attached->session);
  connection_get(answer, "stream", connection, attached->address, sizeof attached->address);
  connection_get(answer, "peer_key", connection, attached->peerKey, sizeof attached->peerKey);
}

/** Reads what resumes the sessions; the keys are numbered even if there is one connection. */
static void describe_resuming(struct text_message *answer, struct attachment *attachment) {
  char window[16];
  text_get(answer, "resume_window", window, sizeof window);
  text_get(answer, "ticket", attachment->ticket, sizeof attachment->ticket);
  attachment->resumeWindow = (uint32_t)strtoul(window, NULL, 10);
  if (!attachment->resumeWindow) return;
  for (uint32_t i = 0; i < attachment->connectionCount; i++) {
    struct attached_connection *attached = &attachment->connections[i];
    connection_get(answer, "server", i, attached->server, sizeof attached->server);
    connection_get(answer, "session_key", i, attached->sessionKey, sizeof attached->sessionKey);
    if (!*attached->sessionKey) attachment->resumeWindow = 0;
  }
}

/** Takes the agent's answer apart; the descriptor stays the caller's on failure. */
static CUresult accept_answer(struct text_message *answer, struct attachment *attachment,
                              char *problem, size_t problemBytes) {
  char type[32], mode[32], cause[32], text[1024], protocol[16], streams[16];
  text_get(answer, "type", type, sizeof type);
  if (strcmp(type, "refused") == 0) {
    text_get(answer, "cause", cause, sizeof cause);
    text_get(answer, "message", text, sizeof text);
    snprintf(problem, problemBytes, "%s", *text ? text : "the agent refused, and did not say why");
    bool denied = strcmp(cause, "refused") == 0 || strcmp(cause, "denied") == 0;
    return denied ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_SYSTEM_NOT_READY;
  }
  text_get(answer, "protocol", protocol, sizeof protocol);
  if (strcmp(type, "attached") != 0 || strcmp(protocol, PROTOCOL) != 0) {
    snprintf(problem, problemBytes,
             "the agent speaks another protocol (type '%s', protocol '%s', wanted " PROTOCOL
             "): use agent and shim of the same gpupool version",
             type, protocol);
    return CUDA_ERROR_SYSTEM_NOT_READY;
  }
  text_get(answer, "mode", mode, sizeof mode);
  text_get(answer, "streams", streams, sizeof streams);
  attachment->connectionCount = *streams ? (uint32_t)strtoul(streams, NULL, 10) : 1;
  bool relayed = strcmp(mode, "relay") == 0;
  if (!attachment->connectionCount || attachment->connectionCount > (relayed ? 1 : MAX_CONNECTIONS)) {
    snprintf(problem, problemBytes, "the agent offers %s call streams (mode '%s'): at most %d, or one that it relays",
             streams, mode, MAX_CONNECTIONS);
    attachment->connectionCount = 0;
    return CUDA_ERROR_SYSTEM_NOT_READY;
  }
  for (uint32_t i = 0; i < attachment->connectionCount; i++) {
    describe_connection(answer, *streams ? i : UINT32_MAX, &attachment->connections[i]);
  }
  // They are numbered even if there is one connection.
  for (uint32_t i = 0; i < attachment->connectionCount; i++) {
    stream_terms_get(answer, i, &attachment->connections[i].terms);
  }
  if (!relayed) describe_resuming(answer, attachment);
  if (relayed) {
    attachment->connections[0].stream = attachment->agent;
    return CUDA_SUCCESS;
  }
  for (uint32_t i = 0; i < attachment->connectionCount; i++) {
    attachment->connections[i].stream = descriptor_receive(attachment->agent);
    if (attachment->connections[i].stream >= 0) continue;
    if (errno == EAGAIN) {
      say_silent(problem, problemBytes);
    } else {
      snprintf(problem, problemBytes, "the agent sent %s call stream: look at the agent's log",
               i ? "too few of the" : "no");
    }
    while (i) close(attachment->connections[--i].stream);
    return CUDA_ERROR_SYSTEM_NOT_READY;
  }
  return CUDA_SUCCESS;
}

/** The agent's answer; while it waits for a lease or a server, it says so now and then before it answers. */
static bool receive_answer(struct text_message *message, int agent) {
  char type[32], text[1024], said[1024] = "";
  for (;;) {
    if (!text_receive(message, agent)) return false;
    text_get(message, "type", type, sizeof type);
    if (strcmp(type, "waiting") != 0) return true;
    text_get(message, "message", text, sizeof text);
    if (strcmp(text, said) != 0) log_line(LOG_WARN, "waiting for a GPU: %s", text);
    memcpy(said, text, sizeof said);
  }
}

bool agent_reason(int agent, char *reason, size_t reasonBytes) {
  char byte, type[32];
  if (recv(agent, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) != sizeof byte) return false;
  struct text_message *message = malloc(sizeof *message);
  if (!message) return false;
  agent_limit_waits(agent, 1000);
  bool received = text_receive(message, agent);
  if (received) {
    text_get(message, "type", type, sizeof type);
    text_get(message, "message", reason, reasonBytes);
  }
  free(message);
  return received && strcmp(type, "ended") == 0 && *reason;
}

CUresult agent_attach(struct attachment *attachment, char *problem, size_t problemBytes) {
  memset(attachment, 0, sizeof *attachment);
  attachment->agent = agent_connect(problem, problemBytes);
  if (attachment->agent < 0) return CUDA_ERROR_SYSTEM_NOT_READY;
  struct text_message *message = malloc(sizeof *message);
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  snprintf(problem, problemBytes, "no memory to ask the agent");
  if (message) {
    agent_describe(message, "attach");
    stream_terms_offer(message);
    add_driver_environment(message);
    result = CUDA_ERROR_SYSTEM_NOT_READY;
    snprintf(problem, problemBytes, "the agent hung up without an answer: look at the agent's log");
    errno = 0;
    if (text_send(message, attachment->agent) && receive_answer(message, attachment->agent)) {
      errno = 0;
      result = accept_answer(message, attachment, problem, problemBytes);
    } else if (errno == EAGAIN) {
      say_silent(problem, problemBytes);
    }
    free(message);
  }
  // It may be the call stream from now on, which waits for as long as work takes.
  agent_limit_waits(attachment->agent, 0);
  if (result) close(attachment->agent);
  return result;
}
