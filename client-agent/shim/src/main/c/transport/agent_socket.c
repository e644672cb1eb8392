// SPDX-License-Identifier: Apache-2.0
#include "transport/agent_socket.h"

#include "core/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define DEFAULT_SOCKET "/run/gpupool/agent.sock"

int agent_patience(void) {
  enum { DEFAULT_SECONDS = 60, MOST_SECONDS = 24 * 60 * 60 };
  const char *configured = getenv("GPUPOOL_ATTACH_TIMEOUT");
  char *end;
  if (!configured || !*configured) return DEFAULT_SECONDS;
  long seconds = strtol(configured, &end, 10);
  if (!*end && seconds >= 0 && seconds <= MOST_SECONDS) return (int)seconds;
  log_line(LOG_WARN, "GPUPOOL_ATTACH_TIMEOUT=%s is no number of seconds up to %d: %d are taken",
           configured, MOST_SECONDS, DEFAULT_SECONDS);
  return DEFAULT_SECONDS;
}

void agent_limit_waits(int descriptor, long millis) {
  struct timeval limit = {.tv_sec = millis / 1000, .tv_usec = millis % 1000 * 1000};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/** Connects to a path, or to an abstract name after '@'; -1 and errno on failure. */
static int connect_to(const char *name, long patienceMillis) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  if (length == 0 || length >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(address.sun_path, name, length);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  if (name[0] == '@') {
    address.sun_path[0] = '\0';
  } else {
    size++;
  }
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  agent_limit_waits(descriptor, patienceMillis);
  while (connect(descriptor, (struct sockaddr *)&address, size) != 0) {
    if (errno == EINTR) continue;
    int saved = errno;
    close(descriptor);
    errno = saved;
    return -1;
  }
  return descriptor;
}

/** Connects to the agent; in a pod it is the agent of the node, which is away for some seconds while it is replaced. */
static int connect_in_pod(const char *name, long patienceMillis) {
  enum { TRIES = 300, PAUSE_MICROSECONDS = 100000 };
  const char *lease = getenv("GPUPOOL_LEASE");
  int tries = lease && strncmp(lease, "pod/", 4) == 0 ? TRIES : 1;
  int descriptor;
  while ((descriptor = connect_to(name, patienceMillis)) < 0 && (errno == ENOENT || errno == ECONNREFUSED) &&
         --tries > 0) {
    usleep(PAUSE_MICROSECONDS);
  }
  return descriptor;
}

static int connect_to_agent(bool patient, long patienceMillis, char *problem, size_t problemBytes) {
  const char *configured = getenv("GPUPOOL_AGENT");
  if (configured && *configured) {
    int descriptor = patient ? connect_in_pod(configured, patienceMillis) : connect_to(configured, patienceMillis);
    if (descriptor < 0) {
      snprintf(problem, problemBytes,
               "no agent at %s (GPUPOOL_AGENT): %s; start one with 'gpupool agent', or run the program"
               " with 'gpupool run -- PROGRAM'",
               configured, strerror(errno));
    }
    return descriptor;
  }
  int descriptor = connect_to(DEFAULT_SOCKET, patienceMillis);
  int first = errno;
  if (descriptor >= 0) return descriptor;
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  if (runtime && *runtime) {
    char path[512];
    snprintf(path, sizeof path, "%s/gpupool/agent.sock", runtime);
    descriptor = connect_to(path, patienceMillis);
    if (descriptor >= 0) return descriptor;
  }
  snprintf(problem, problemBytes,
           "no agent at " DEFAULT_SOCKET ": %s; start one with 'gpupool agent', or run the program with"
           " 'gpupool run -- PROGRAM'",
           strerror(first));
  return -1;
}

int agent_connect(char *problem, size_t problemBytes) {
  return connect_to_agent(true, 1000L * agent_patience(), problem, problemBytes);
}

int agent_connect_now(long patienceMillis, char *problem, size_t problemBytes) {
  return connect_to_agent(false, patienceMillis, problem, problemBytes);
}
