// SPDX-License-Identifier: Apache-2.0
//
// Walls around the process itself: namespaces, user, capabilities, limits.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "plan.h"

enum { MAX_CAPABILITY = 63, MAX_FILES = 16384, MAX_THREADS = 8192 };

static int write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t written = write(file, text, strlen(text));
  int error = errno;
  close(file);
  errno = error;
  return written < 0 ? -1 : 0;
}

static void limit(int resource, rlim_t most) {
  struct rlimit now;
  if (getrlimit(resource, &now) != 0) return;
  if (now.rlim_max == RLIM_INFINITY || now.rlim_max > most) now.rlim_max = most;
  if (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > now.rlim_max) now.rlim_cur = now.rlim_max;
  setrlimit(resource, &now);
}

static void limit_resources(const struct plan *plan) {
  // 1 byte, not 0: with 0 the kernel still pipes a dump to a program that collects them.
  const struct rlimit no_core = {1, 1};
  if (setrlimit(RLIMIT_CORE, &no_core) != 0) limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, MAX_FILES);
  limit(RLIMIT_MSGQUEUE, 0);
  limit(RLIMIT_RTPRIO, 0);
  limit(RLIMIT_NICE, 0);
  // It counts all of a user's threads, so only where the user is the worker's own.
  if (plan->uid >= 0) limit(RLIMIT_NPROC, MAX_THREADS);
  if (plan->oom) write_text("/proc/self/oom_score_adj", plan->oom);
}

static void leave_network(struct plan *plan) {
  if (!plan->own_network) return;
  uid_t user = geteuid();
  gid_t group = getegid();
  // Whoever may not make a network alone may in a user namespace, where the kernel is set up so. There would be no
  // other user to become.
  if (unshare(CLONE_NEWNET | CLONE_NEWIPC) == 0) return;
  if (plan->uid >= 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) != 0) {
    wall_missing(plan, "network-namespace", strerror(errno));
    return;
  }
  char map[64];
  write_text("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "%u %u 1", (unsigned)user, (unsigned)user);
  int failed = write_text("/proc/self/uid_map", map);
  snprintf(map, sizeof map, "%u %u 1", (unsigned)group, (unsigned)group);
  failed |= write_text("/proc/self/gid_map", map);
  if (failed) wall_missing(plan, "network-namespace", "its user cannot be mapped");
}

// Whether the user that this process now is gets at what the worker needs.
static void check_paths(struct plan *plan) {
  for (size_t i = 0; i < plan->path_count; i++) {
    const struct path *path = &plan->paths[i];
    if (access(path->name, path->access == ACCESS_WRITE ? R_OK | W_OK : R_OK) == 0 || errno == ENOENT) continue;
    // Folders of this machine that hold nothing but what its root may read are no loss.
    if (strncmp(path->name, "/sys/", 5) == 0 || strncmp(path->name, "/proc/", 6) == 0) continue;
    char reason[MAX_REASON];
    snprintf(reason, sizeof reason, "%s is closed to other users", path->name);
    wall_missing(plan, "user", reason);
    return;
  }
}

static void become_user(struct plan *plan) {
  if (plan->uid < 0) return;
  uid_t user = (uid_t)plan->uid;
  gid_t group = (gid_t)plan->uid;
  if (setgroups(0, NULL) != 0 || setresgid(group, group, group) != 0 || setresuid(user, user, user) != 0) {
    char reason[MAX_REASON];
    snprintf(reason, sizeof reason, "user %ld: %s", plan->uid, strerror(errno));
    wall_missing(plan, "user", reason);
    return;
  }
  if (plan->check) check_paths(plan);
}

// What no program may give to this process again. Only who has the capability for it can say so; the others cannot
// gain any either, without new privileges.
static void bound_capabilities(void) {
  for (int capability = 0; capability <= MAX_CAPABILITY; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static void drop_capabilities(struct plan *plan) {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2];
  memset(none, 0, sizeof none);
  if (syscall(SYS_capset, &header, none) != 0) wall_missing(plan, "privileges", strerror(errno));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) wall_missing(plan, "privileges", strerror(errno));
}
