// SPDX-License-Identifier: Apache-2.0
// A test program's own words: CHECK what must hold; CASE runs one case in a child process, so that each
// has a fresh library and none can take the others down; test_result ends main.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int testFailures;

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      _exit(1); \
    } \
  } while (0)

#define CHECK_RESULT(expected, call) \
  do { \
    int got_ = (call); \
    if (got_ != (expected)) { \
      fprintf(stderr, "%s:%d: %s gave %d, not %d\n", __FILE__, __LINE__, #call, got_, (int)(expected)); \
      _exit(1); \
    } \
  } while (0)

#define CHECK_OK(call) CHECK_RESULT(0, call)

#define CASE(name) test_case(#name, name)

static inline void test_case(const char *name, void (*body)(void)) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(300);  // Against hanging only: others may have the processors.
    body();
    fflush(NULL);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) continue;
  bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status)) fprintf(stderr, "%s: signal %d\n", name, WTERMSIG(status));
  printf("%s %s\n", ok ? "ok" : "not ok", name);
  fflush(stdout);
  testFailures += !ok;
}

static inline int test_result(void) { return testFailures ? 1 : 0; }
