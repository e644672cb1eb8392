// SPDX-License-Identifier: Apache-2.0
//
// Attacks that hostile code would try in a worker. Started in the sandbox in place of the Java runtime, it makes the
// attempt that its arguments name and prints "WORD ERRNO" (0: it succeeded).
//
//   intruder [--filter] ATTEMPT [VALUE]
//
// With --filter it first installs the filter of system calls as the worker does.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

static void put_up_filter(void) {
  static struct sock_filter steps[4096];
  int file = atoi(getenv("GPUPOOL_FILTER_FD"));
  ssize_t length = read(file, steps, sizeof steps);
  struct sock_fprog program = {(unsigned short)(length / (ssize_t)sizeof *steps), steps};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    perror("seccomp");
    exit(3);
  }
}

static int result(long value) { return value < 0 ? errno : 0; }

static int connect_abstract(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  memcpy(address.sun_path + 1, name, length);
  int one = socket(AF_UNIX, SOCK_STREAM, 0);
  if (one < 0) return errno;
  return result(connect(one, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)));
}

static int connect_port(const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int one = socket(AF_INET, SOCK_STREAM, 0);
  return one < 0 ? errno : result(connect(one, (struct sockaddr *)&address, sizeof address));
}

static int read_memory(pid_t process) {
  char byte;
  struct iovec own = {&byte, 1}, theirs = {environ, 1};
  return result(process_vm_readv(process, &own, 1, &theirs, 1, 0));
}

static int start_shell(void) {
  execl("/bin/sh", "sh", "-c", "true", NULL);
  return errno;
}

static int bomb(void) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  return result(child);
}

// Has a socket of its own send signals to another process.
static int signal_by_socket(pid_t process) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return errno;
  return result(fcntl(pair[0], F_SETOWN, process));
}

// Makes any process that opens a file of this process wait for it.
static int lease(void) {
  int file = (int)syscall(SYS_memfd_create, "lease", 0);
  return file < 0 ? errno : result(fcntl(file, F_SETLEASE, F_WRLCK));
}

static int attempt(const char *what, const char *value) {
  if (strcmp(what, "read") == 0) return result(open(value, O_RDONLY));
  if (strcmp(what, "list") == 0) return result(open(value, O_RDONLY | O_DIRECTORY));
  if (strcmp(what, "write") == 0) return result(open(value, O_WRONLY | O_CREAT, 0600));
  if (strcmp(what, "remove") == 0) return result(unlink(value));
  if (strcmp(what, "connect") == 0) return connect_port(value);
  if (strcmp(what, "abstract") == 0) return connect_abstract(value);
  if (strcmp(what, "udp") == 0) return result(socket(AF_INET, SOCK_DGRAM, 0));
  if (strcmp(what, "netlink") == 0) return result(socket(AF_NETLINK, SOCK_RAW, 0));
  if (strcmp(what, "shell") == 0) return start_shell();
  if (strcmp(what, "fork") == 0) return bomb();
  if (strcmp(what, "kill") == 0) return result(kill(atoi(value), SIGTERM));
  if (strcmp(what, "own") == 0) return signal_by_socket(atoi(value));
  if (strcmp(what, "lease") == 0) return lease();
  if (strcmp(what, "trace") == 0) return result(ptrace(PTRACE_ATTACH, atoi(value), NULL, NULL));
  if (strcmp(what, "memory") == 0) return read_memory(atoi(value));
  if (strcmp(what, "user") == 0) return result(setuid(0));
  if (strcmp(what, "namespace") == 0) return result(unshare(CLONE_NEWUSER));
  if (strcmp(what, "mount") == 0) return result(syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL));
  if (strcmp(what, "chmod") == 0) return result(chmod(value, 0777));
  fprintf(stderr, "what is %s?\n", what);
  exit(2);
}

int main(int count, char **arguments) {
  int at = 1;
  if (count > at && strcmp(arguments[at], "--filter") == 0) {
    put_up_filter();
    at++;
  }
  if (count <= at) return 2;
  printf("%s %d\n", arguments[at], attempt(arguments[at], count > at + 1 ? arguments[at + 1] : ""));
  return 0;
}
