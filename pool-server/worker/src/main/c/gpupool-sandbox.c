// SPDX-License-Identifier: Apache-2.0
//
// Puts up the walls around a worker, then becomes it. GPUPOOL_SANDBOX holds the plan (plan.h).
//
//   gpupool-sandbox COMMAND...   becomes COMMAND behind the walls, with GPUPOOL_CONTROL_FD, a connection with the
//                                server, GPUPOOL_LISTEN_FD, a listening socket, if the plan has one, and
//                                GPUPOOL_FILTER_FD, the filter of system calls that it is to put up itself
//   gpupool-sandbox --check      puts the walls up around itself and prints a line "missing WALL REASON" for each that
//                                this machine does not let it have
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "calls.h"
#include "files.h"
#include "identity.h"
#include "plan.h"

enum { USAGE_ERROR = 2, NOT_RUNNABLE = 126, FIRST_OWN_DESCRIPTOR = 3 };

static void announce(const char *variable, int descriptor) {
  char text[16];
  snprintf(text, sizeof text, "%d", descriptor);
  setenv(variable, text, 1);
}

// What the server had open and did not mark is none of the worker's business.
static void close_inherited(void) {
  long most = sysconf(_SC_OPEN_MAX);
  if (most < 0 || most > MAX_FILES) most = MAX_FILES;
  for (int descriptor = FIRST_OWN_DESCRIPTOR; descriptor < most; descriptor++) close(descriptor);
}

// While this process is in the server's network, where the socket's name is known.
static void connect_control(const struct plan *plan) {
  if (!plan->control) return;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(plan->control);
  if (plan->control[0] != '@' || length > sizeof address.sun_path) die("not an abstract socket", plan->control);
  memcpy(address.sun_path, plan->control, length);
  address.sun_path[0] = 0;
  int server = socket(AF_UNIX, SOCK_STREAM, 0);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  if (server < 0 || connect(server, (struct sockaddr *)&address, size) != 0) die(plan->control, strerror(errno));
  announce("GPUPOOL_CONTROL_FD", server);
}

// While this process is the server's user, who alone may make a file there and connect to it.
static int bind_listener(const struct plan *plan) {
  if (!plan->listen) return -1;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(plan->listen);
  if (plan->listen[0] != '/' || length >= sizeof address.sun_path) die("not a path for a unix socket", plan->listen);
  memcpy(address.sun_path, plan->listen, length);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  // The file gets the mode of the socket.
  if (listener < 0 || fchmod(listener, S_IRUSR | S_IWUSR) != 0 ||
      bind(listener, (struct sockaddr *)&address, sizeof address) != 0)
    die(plan->listen, strerror(errno));
  return listener;
}

// As the worker's own user: whoever connects can ask the kernel who listens.
static void listen_for_claims(const struct plan *plan, int listener) {
  if (listener < 0) return;
  if (listen(listener, 1) != 0) die(plan->listen, strerror(errno));
  announce("GPUPOOL_LISTEN_FD", listener);
}

// A change of user makes the kernel forget that this process is to die with its parent.
static void die_with_parent(pid_t parent, int signal) {
  if (signal == 0) return;
  prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
  if (getppid() != parent) _exit(NOT_RUNNABLE);
}

static void put_up(struct plan *plan) {
  pid_t parent = getppid();
  int signal = 0;
  prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0);
  // Signals to the server's process group are none of the worker's, nor the other way round.
  setsid();
  close_inherited();
  connect_control(plan);
  int listener = bind_listener(plan);
  limit_resources(plan);
  int files = prepare_files(plan);
  leave_network(plan);
  bound_capabilities();
  become_user(plan);
  drop_capabilities(plan);
  listen_for_claims(plan, listener);
  if (!plan->check && !plan->without_calls) {
    int filter = hand_over_filter(plan);
    if (filter >= 0) announce("GPUPOOL_FILTER_FD", filter);
  }
  die_with_parent(parent, signal);
  close_files(plan, files);
  if (files >= 0) close(files);
  if (plan->check) check_calls(plan);
}

int main(int count, char **arguments) {
  static struct plan plan;
  char *text = getenv("GPUPOOL_SANDBOX");
  if (count < 2 || !text) {
    fprintf(stderr, "usage: GPUPOOL_SANDBOX=PLAN gpupool-sandbox --check | COMMAND...\n");
    return USAGE_ERROR;
  }
  text = strdup(text);
  if (!text) die("memory", strerror(errno));
  unsetenv("GPUPOOL_SANDBOX");
  parse_plan(&plan, text);
  if (!plan.filter) die("GPUPOOL_SANDBOX", "no line for the filter");
  plan.check = strcmp(arguments[1], "--check") == 0;
  put_up(&plan);
  if (plan.check) return 0;
  execv(arguments[1], arguments + 1);
  fprintf(stderr, "gpupool-sandbox: %s: %s\n", arguments[1], strerror(errno));
  return NOT_RUNNABLE;
}
