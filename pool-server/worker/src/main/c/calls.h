// SPDX-License-Identifier: Apache-2.0
//
// The wall around system calls: a list of those that a worker needs once it has started. What is not on it fails with
// EPERM, and what only an intruder would try ends the process. The program is made here, where the numbers of this
// machine's calls are known, and put up by the worker itself: the Java runtime needs more until it runs.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call-lists.h"
#include "plan.h"

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the numbers of system calls of this architecture are not known here"
#endif

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif
#ifndef SECCOMP_SET_MODE_FILTER
#define SECCOMP_SET_MODE_FILTER 1
#endif

enum { X32_CALLS = 0x40000000, MAX_STEPS = 512, NAME_MEMORY = 0x53564d41 /* PR_SET_VMA */ };

struct filter {
  struct sock_filter steps[MAX_STEPS];
  unsigned short count;
};

static void step(struct filter *filter, uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false) {
  if (filter->count == MAX_STEPS) die("filter", "too long");
  filter->steps[filter->count++] = (struct sock_filter){code, if_true, if_false, value};
}

static void load(struct filter *filter, size_t offset) {
  step(filter, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void finish(struct filter *filter, uint32_t action) { step(filter, BPF_RET | BPF_K, action, 0, 0); }

static size_t argument(int index) { return offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)index; }

static const uint32_t denied = SECCOMP_RET_ERRNO | EPERM;

static void decide(struct filter *filter, int call, uint32_t action) {
  step(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
  finish(filter, action);
}

// Allows a call when the lower half of an argument, which is an int, is one of these.
static void allow_with(struct filter *filter, int call, int index, const uint32_t *values, size_t count) {
  step(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, (uint8_t)(2 + 2 * count));
  load(filter, argument(index));
  for (size_t i = 0; i < count; i++) decide(filter, (int)values[i], SECCOMP_RET_ALLOW);
  finish(filter, denied);
}

// Allows a call unless the lower half of an argument is one of these.
static void allow_without(struct filter *filter, int call, int index, const uint32_t *values, size_t count) {
  step(filter, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, (uint8_t)(2 + 2 * count));
  load(filter, argument(index));
  for (size_t i = 0; i < count; i++) decide(filter, (int)values[i], denied);
  finish(filter, SECCOMP_RET_ALLOW);
}

// Commands of fcntl without F_SETOWN and F_SETSIG, which send signals to others, and F_SETLEASE, which makes them wait.
static const uint32_t descriptor_commands[] = {
    F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_ADD_SEALS, F_GET_SEALS,
};

// Requests that would send signals to others or type on a terminal: FIOSETOWN, SIOCSPGRP, FIOASYNC, TIOCSTI, TIOCSPGRP.
static const uint32_t harmful_requests[] = {0x8901, 0x8902, 0x5452, 0x5412, 0x5410};

static void allow_threads(struct filter *filter) {
  const uint32_t namespaces = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
                              CLONE_NEWCGROUP;
  step(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 6);
  load(filter, argument(0));
  step(filter, BPF_JMP | BPF_JSET | BPF_K, namespaces, 3, 0);
  step(filter, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
  finish(filter, SECCOMP_RET_ALLOW);
  finish(filter, denied);
  finish(filter, SECCOMP_RET_KILL_PROCESS);
#ifdef SYS_clone3
  // Its flags are in memory; without it the C library falls back on the other.
  decide(filter, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
#endif
}

static void build_filter(struct filter *filter, const char *kind) {
  const int nccl = strcmp(kind, "nccl") == 0, nvidia = nccl || strcmp(kind, "nvidia") == 0;
  load(filter, offsetof(struct seccomp_data, arch));
  step(filter, BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0);
  finish(filter, SECCOMP_RET_KILL_PROCESS);
  load(filter, offsetof(struct seccomp_data, nr));
  step(filter, BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1);
  finish(filter, SECCOMP_RET_KILL_PROCESS);
  for (size_t i = 0; i < sizeof calls_of_all / sizeof *calls_of_all; i++)
    decide(filter, calls_of_all[i], SECCOMP_RET_ALLOW);
  if (nvidia)
    for (size_t i = 0; i < sizeof calls_of_nvidia / sizeof *calls_of_nvidia; i++)
      decide(filter, calls_of_nvidia[i], SECCOMP_RET_ALLOW);
  for (size_t i = 0; i < sizeof calls_that_kill / sizeof *calls_that_kill; i++)
    decide(filter, calls_that_kill[i], SECCOMP_RET_KILL_PROCESS);
  allow_threads(filter);
  const uint32_t self = (uint32_t)getpid(), local = AF_UNIX;
  // Signals go to this process alone, and its own limits are all that it sees.
  allow_with(filter, SYS_tgkill, 0, &self, 1);
  allow_with(filter, SYS_kill, 0, &self, 1);
  const uint32_t own[] = {0, self};
  allow_with(filter, SYS_prlimit64, 0, own, 2);
  const uint32_t harmless[] = {PR_SET_NAME, PR_GET_NAME, NAME_MEMORY, PR_SET_TIMERSLACK, PR_SET_PDEATHSIG};
  allow_with(filter, SYS_prctl, 0, harmless, sizeof harmless / sizeof *harmless);
  allow_with(filter, SYS_socketpair, 0, &local, 1);
  allow_with(filter, SYS_fcntl, 1, descriptor_commands, sizeof descriptor_commands / sizeof *descriptor_commands);
  if (nvidia) {
    const uint32_t networks[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    allow_with(filter, SYS_socket, 0, networks, nccl ? sizeof networks / sizeof *networks : 1);
    allow_without(filter, SYS_ioctl, 1, harmful_requests, sizeof harmful_requests / sizeof *harmful_requests);
  } else {
    const uint32_t harmless_requests[] = {0x5401 /* TCGETS */, 0x541b /* FIONREAD */};
    allow_with(filter, SYS_ioctl, 1, harmless_requests, 2);
  }
  finish(filter, denied);
}

// Leaves the program to the worker, as the content of a file in memory; its descriptor.
static int hand_over_filter(struct plan *plan) {
  struct filter filter = {.count = 0};
  build_filter(&filter, plan->filter);
  int file = (int)syscall(SYS_memfd_create, "gpupool-filter", 0);
  size_t length = filter.count * sizeof *filter.steps;
  if (file < 0 || write(file, filter.steps, length) != (ssize_t)length || lseek(file, 0, SEEK_SET) != 0) {
    wall_missing(plan, "calls", strerror(errno));
    return -1;
  }
  return file;
}

// Tries the program on this process, which then can do little but end.
static void check_calls(struct plan *plan) {
  struct filter filter = {.count = 0};
  build_filter(&filter, plan->filter);
  struct sock_fprog program = {filter.count, filter.steps};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) wall_missing(plan, "calls", strerror(errno));
}
