// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 1024 };

int logLevel = LOG_WARN;

void log_configure(void) {
  static const char *const names[] = {"off", "error", "warn", "info", "debug"};
  const char *wanted = getenv("GPUPOOL_LOG");
  if (!wanted || !*wanted) return;
  for (int i = LOG_OFF; i <= LOG_DEBUG; i++) {
    if (strcmp(wanted, names[i - LOG_OFF]) == 0) {
      logLevel = i;
      return;
    }
  }
  log_line(LOG_WARN, "GPUPOOL_LOG=%s is not one of off, error, warn, info, debug", wanted);
}

void log_line(enum log_level level, const char *format, ...) {
  if ((int)level > logLevel) return;
  int saved = errno;
  char line[LINE_BYTES] = "gpupool: ";
  size_t length = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(line + length, sizeof line - length - 1, format, arguments);
  va_end(arguments);
  if (written > 0) {
    length += (size_t)written;
    if (length > sizeof line - 2) length = sizeof line - 2;
  }
  line[length++] = '\n';
  for (size_t sent = 0; sent < length;) {
    ssize_t count = write(STDERR_FILENO, line + sent, length - sent);
    if (count < 0 && errno != EINTR) break;
    if (count > 0) sent += (size_t)count;
  }
  errno = saved;
}

uint64_t now_nanos(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
