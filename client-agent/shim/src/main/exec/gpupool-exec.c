// SPDX-License-Identifier: Apache-2.0
//
// Ties a program's life to the process that starts it, which a Java process cannot do by itself.
//
//   gpupool-exec --bind -- COMMAND...       becomes COMMAND, which the kernel kills when the thread that
//                                           started it ends; with GPUPOOL_BIND=self, COMMAND ties itself to
//                                           the process in GPUPOOL_PARENT, and is in a session of its own
//   gpupool-exec --supervise -- COMMAND...  runs COMMAND, passes on the signals its own parent sends it, and
//                                           ends with COMMAND's status (128 + N for signal N); when the parent
//                                           dies, kills COMMAND and all that came of it
//
// Status 127: COMMAND was not found; 126: it cannot be run.
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PR_SET_CHILD_SUBREAPER
#define PR_SET_CHILD_SUBREAPER 36
#endif

enum { NOT_FOUND = 127, NOT_RUNNABLE = 126, FAILED = 125, SIGNAL_BASE = 128 };

// Signals that a terminal sends to everything in the foreground: the program has its own then.
static const int terminal_signals[] = {SIGINT, SIGQUIT, SIGWINCH, SIGHUP};

static _Noreturn void fail(int status, const char *what, const char *why) {
  fprintf(stderr, "gpupool: %s: %s\n", what, why);
  exit(status);
}

// Undoes what the Java runtime and this program set up for themselves; what the user chose to ignore
// (nohup) stays ignored.
static void restore_signals(void) {
  struct sigaction plain = {.sa_handler = SIG_DFL};
  sigaction(SIGQUIT, &plain, NULL);
  sigaction(SIGPIPE, &plain, NULL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static void die_with_parent(pid_t parent, int signal) {
  if (prctl(PR_SET_PDEATHSIG, signal) != 0) fail(FAILED, "prctl", strerror(errno));
  // The parent may have died before the kernel was told.
  if (getppid() != parent) _exit(FAILED);
}

// A program that may outlive its parent has to set and clear the signal itself: it belongs to a thread.
static int binds_itself(void) {
  const char *bind = getenv("GPUPOOL_BIND");
  return bind && strcmp(bind, "self") == 0;
}

static void leave_bond(pid_t parent) {
  char text[16];
  snprintf(text, sizeof text, "%d", (int)parent);
  if (setenv("GPUPOOL_PARENT", text, 1) != 0) fail(FAILED, "setenv", strerror(errno));
  unsetenv("GPUPOOL_BIND");
  // A terminal's signals to the parent are none of the program's.
  setsid();
}

static _Noreturn void become(char **command) {
  execvp(command[0], command);
  if (errno == ENOENT) fail(NOT_FOUND, command[0], "command not found");
  fail(NOT_RUNNABLE, command[0], strerror(errno));
}

static int is_terminal_signal(int signal) {
  for (size_t i = 0; i < sizeof terminal_signals / sizeof *terminal_signals; i++)
    if (terminal_signals[i] == signal) return 1;
  return 0;
}

static pid_t parent_of(pid_t process) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  size_t count = fread(line, 1, sizeof line - 1, file);
  fclose(file);
  line[count] = 0;
  // "pid (name) state ppid": the name may hold anything, parentheses too.
  char *rest = strrchr(line, ')');
  int parent = 0;
  if (!rest || sscanf(rest + 1, " %*c %d", &parent) != 1) return 0;
  return parent;
}

static int kill_children(void) {
  int found = 0;
  DIR *all = opendir("/proc");
  if (!all) return 0;
  for (struct dirent *entry = readdir(all); entry; entry = readdir(all)) {
    pid_t process = (pid_t)strtol(entry->d_name, NULL, 10);
    if (process > 0 && parent_of(process) == getpid() && kill(process, SIGKILL) == 0) found++;
  }
  closedir(all);
  return found;
}

// Kills all descendants: as a subreaper this process inherits those whose own parent has died.
static _Noreturn void kill_all(pid_t program) {
  kill(program, SIGKILL);
  for (;;) {
    kill_children();
    if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD) _exit(SIGNAL_BASE + SIGKILL);
  }
}

static void finish_if_ended(pid_t program) {
  int status;
  for (pid_t ended = waitpid(-1, &status, WNOHANG); ended > 0; ended = waitpid(-1, &status, WNOHANG)) {
    if (ended != program) continue;
    exit(WIFSIGNALED(status) ? SIGNAL_BASE + WTERMSIG(status) : WEXITSTATUS(status));
  }
}

static int supervise(char **command, pid_t parent) {
  const int parent_died = SIGRTMIN;
  sigset_t all;
  sigfillset(&all);
  // Stopping and going on are the terminal's business with each process.
  const int left_alone[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  for (size_t i = 0; i < sizeof left_alone / sizeof *left_alone; i++) sigdelset(&all, left_alone[i]);
  sigprocmask(SIG_SETMASK, &all, NULL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  die_with_parent(parent, parent_died);

  pid_t self = getpid();
  pid_t program = fork();
  if (program < 0) fail(FAILED, "fork", strerror(errno));
  if (program == 0) {
    restore_signals();
    die_with_parent(self, SIGKILL);
    become(command);
  }
  prctl(PR_SET_NAME, "gpupool-exec");

  // From the terminal, a signal reaches the parent too, which passes it on like any other: one of
  // the two is dropped.
  int from_terminal[NSIG] = {0};
  for (;;) {
    siginfo_t info;
    int signal = sigwaitinfo(&all, &info);
    if (signal < 0) continue;
    if (signal == parent_died || getppid() != parent) kill_all(program);
    if (signal == SIGCHLD) {
      finish_if_ended(program);
    } else if (is_terminal_signal(signal) && info.si_code == SI_KERNEL) {
      from_terminal[signal] = 1;
    } else if (is_terminal_signal(signal) && info.si_pid == parent && from_terminal[signal]) {
      from_terminal[signal] = 0;
    } else {
      kill(program, signal);
    }
  }
}

int main(int argc, char **argv) {
  pid_t parent = getppid();
  if (argc < 4 || strcmp(argv[2], "--") != 0) {
    fprintf(stderr, "usage: gpupool-exec --bind|--supervise -- COMMAND...\n");
    return 2;
  }
  if (strcmp(argv[1], "--bind") == 0) {
    restore_signals();
    if (binds_itself())
      leave_bond(parent);
    else
      die_with_parent(parent, SIGKILL);
    become(argv + 3);
  }
  if (strcmp(argv[1], "--supervise") == 0) return supervise(argv + 3, parent);
  fprintf(stderr, "usage: gpupool-exec --bind|--supervise -- COMMAND...\n");
  return 2;
}
