// SPDX-License-Identifier: Apache-2.0
//
// The wall around files: a Landlock domain in which nothing can be opened but what the plan names. It also keeps
// signals and, for the software GPU, abstract sockets inside, where the kernel can.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plan.h"

// The same numbers on all architectures; headers before Linux 5.13 do not have them.
enum { LANDLOCK_CREATE = 444, LANDLOCK_ADD_RULE = 445, LANDLOCK_RESTRICT_SELF = 446 };
enum { LANDLOCK_VERSION = 1, RULE_PATH_BENEATH = 1 };

enum {
  FS_EXECUTE = 1 << 0,
  FS_WRITE_FILE = 1 << 1,
  FS_READ_FILE = 1 << 2,
  FS_READ_DIR = 1 << 3,
  FS_REMOVE_FILE = 1 << 5,
  FS_MAKE_REG = 1 << 8,
  FS_MAKE_SOCK = 1 << 9,
  FS_ALL_OF_FIRST = (1 << 13) - 1,
  FS_REFER = 1 << 13,      // of ABI 2
  FS_TRUNCATE = 1 << 14,   // of ABI 3
  FS_IOCTL_DEV = 1 << 15,  // of ABI 5
  FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV
};

enum { NET_TCP = 3, SCOPE_ABSTRACT_SOCKETS = 1, SCOPE_SIGNALS = 2 };

struct ruleset {
  uint64_t files, network, scoped;
};

struct path_rule {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));

static uint64_t access_bits(enum access access) {
  switch (access) {
    case ACCESS_EXEC:
      return FS_READ_FILE | FS_READ_DIR | FS_EXECUTE;
    case ACCESS_WRITE:
      return FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV | FS_MAKE_REG | FS_MAKE_SOCK |
             FS_REMOVE_FILE;
    default:
      return FS_READ_FILE | FS_READ_DIR;
  }
}

static uint64_t handled_files(long abi) {
  uint64_t bits = FS_ALL_OF_FIRST;
  if (abi >= 2) bits |= FS_REFER;
  if (abi >= 3) bits |= FS_TRUNCATE;
  if (abi >= 5) bits |= FS_IOCTL_DEV;
  return bits;
}

// What is not there needs no rule: the list is that of all systems.
static void allow_path(int ruleset, uint64_t handled, const struct path *path) {
  int descriptor = open(path->name, O_PATH | O_CLOEXEC);
  struct stat facts;
  if (descriptor < 0) return;
  if (fstat(descriptor, &facts) == 0) {
    uint64_t bits = access_bits(path->access) & handled;
    if (!S_ISDIR(facts.st_mode)) bits &= FS_OF_FILES;
    struct path_rule rule = {bits, descriptor};
    syscall(LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0);
  }
  close(descriptor);
}

// Made while this process may still look at all paths, put up at last; below 0: there is none.
static int prepare_files(struct plan *plan) {
  long abi = syscall(LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION);
  if (abi < 1) {
    wall_missing(plan, "files", "Landlock: not in this kernel, or not allowed");
    return -1;
  }
  struct ruleset wanted = {.files = handled_files(abi)};
  size_t length = sizeof wanted.files;
  if (abi >= 4) {
    // NCCL connects the ranks of several servers.
    wanted.network = strcmp(plan->filter, "nccl") == 0 ? 0 : NET_TCP;
    length += sizeof wanted.network;
  }
  if (abi >= 6) {
    // A driver's library connects to such sockets of other processes that share memory with this one.
    wanted.scoped = strcmp(plan->filter, "soft") == 0 ? SCOPE_SIGNALS | SCOPE_ABSTRACT_SOCKETS : SCOPE_SIGNALS;
    length += sizeof wanted.scoped;
  }
  int ruleset = (int)syscall(LANDLOCK_CREATE, &wanted, length, 0);
  if (ruleset < 0) {
    wall_missing(plan, "files", strerror(errno));
    return -1;
  }
  fcntl(ruleset, F_SETFD, FD_CLOEXEC);
  for (size_t i = 0; i < plan->path_count; i++) allow_path(ruleset, wanted.files, &plan->paths[i]);
  // Of /proc only this process. The descriptor stays open, which keeps the rule: the kernel forgets folders of /proc
  // that nobody uses, and with them what it was told of them.
  if (open("/proc/self", O_PATH) >= 0) {
    allow_path(ruleset, wanted.files, &(struct path){"/proc/self", ACCESS_READ});
  }
  return ruleset;
}

static void close_files(struct plan *plan, int ruleset) {
  if (ruleset >= 0 && syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) != 0) wall_missing(plan, "files", strerror(errno));
}
