// SPDX-License-Identifier: Apache-2.0
//
// The plan by which the server confines a worker: lines of GPUPOOL_SANDBOX, a word and its value each.
//
//   control @NAME     the server's abstract socket: connect to it and hand the connection over
//   listen PATH       bind a unix socket to this path, listen on it and hand it over
//   uid NUMBER        become this user, with a group of the same number
//   oom NUMBER        oom_score_adj
//   read PATH         files below it may be read
//   exec PATH         the same, and run as programs
//   write PATH        files and device nodes below it may be read and written
//   network own       a network namespace without any interface
//   filter KIND       system calls for soft or nvidia, or for nccl: nvidia with network sockets
//   calls no          no filter: the kernel takes none
//   strict yes        do not start the worker when a wall of this plan is missing
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATHS = 256, MAX_REASON = 400 };

enum access { ACCESS_READ, ACCESS_EXEC, ACCESS_WRITE };

struct path {
  const char *name;
  enum access access;
};

struct plan {
  const char *control;
  const char *listen;
  const char *oom;
  const char *filter;
  long uid;  // -1: stay the same
  int own_network;
  int strict;
  int without_calls;
  int check;  // Only find out what is missing.
  size_t path_count;
  struct path paths[MAX_PATHS];
  int missing;
};

static _Noreturn void die(const char *what, const char *reason) {
  fprintf(stderr, "gpupool-sandbox: %s: %s\n", what, reason);
  exit(125);
}

// Notes that a wall is missing: a line for the server where it only checks, else the end where the plan is strict.
static void wall_missing(struct plan *plan, const char *wall, const char *reason) {
  plan->missing = 1;
  if (plan->check)
    printf("missing %s %s\n", wall, reason);
  else if (plan->strict)
    die(wall, reason);
}

static void add_path(struct plan *plan, enum access access, const char *name) {
  if (plan->path_count == MAX_PATHS) die("GPUPOOL_SANDBOX", "too many paths");
  plan->paths[plan->path_count++] = (struct path){name, access};
}

static void parse_line(struct plan *plan, const char *word, const char *value) {
  if (strcmp(word, "control") == 0)
    plan->control = value;
  else if (strcmp(word, "listen") == 0)
    plan->listen = value;
  else if (strcmp(word, "uid") == 0)
    plan->uid = strtol(value, NULL, 10);
  else if (strcmp(word, "oom") == 0)
    plan->oom = value;
  else if (strcmp(word, "read") == 0)
    add_path(plan, ACCESS_READ, value);
  else if (strcmp(word, "exec") == 0)
    add_path(plan, ACCESS_EXEC, value);
  else if (strcmp(word, "write") == 0)
    add_path(plan, ACCESS_WRITE, value);
  else if (strcmp(word, "network") == 0)
    plan->own_network = 1;
  else if (strcmp(word, "filter") == 0)
    plan->filter = value;
  else if (strcmp(word, "calls") == 0)
    plan->without_calls = 1;
  else if (strcmp(word, "strict") == 0)
    plan->strict = 1;
  else
    die("GPUPOOL_SANDBOX has a line that is not known", word);
}

// The text is changed and must stay.
static void parse_plan(struct plan *plan, char *text) {
  plan->uid = -1;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char *value = strchr(line, ' ');
    if (!value) die("GPUPOOL_SANDBOX has a line without a value", line);
    *value = 0;
    parse_line(plan, line, value + 1);
  }
}
