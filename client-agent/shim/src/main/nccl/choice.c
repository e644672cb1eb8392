// SPDX-License-Identifier: Apache-2.0
// The choice between gpupool's functions and NVIDIA's library. Containers preload this library before anyone knows what
// GPUs their lease has, so the choice is made when a program first needs NCCL: for good, and for all functions.
// NVIDIA's library would not be found by its name, which is this one's: it is looked for where the program's loader
// would have found it.
#include "entries.h"
#include "nccl_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int made;                // the choice; behind the lock
static atomic_int theirs;       // NVIDIA's library was chosen
static _Atomic(char *) opened;  // the path by which the program has opened NCCL; NULL: by none

int library_is_off(void) {
  const char *setting = getenv("GPUPOOL_NCCL");
  return setting && strcmp(setting, "off") == 0;
}

static const char *own_path(void) {
  static const char here;
  Dl_info own;
  return dladdr(&here, &own) ? own.dli_fname : NULL;
}

static int is_own(const char *path) {
  const char *own = own_path();
  struct stat one, other;
  return own && !stat(own, &one) && !stat(path, &other) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

const char *choice_opens(const char *file) {
  if (atomic_load(&theirs) || library_is_off()) return file;
  const char *own = own_path();
  if (!own) return file;
  if (strchr(file, '/') && !is_own(file)) {
    char *path = strdup(file), *none = NULL;
    if (!atomic_compare_exchange_strong(&opened, &none, path)) free(path);
  }
  return own;
}

static void *open_in(const char *folder) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s/libnccl.so.2", folder);
  if (length < 0 || (size_t)length >= sizeof path || is_own(path)) return NULL;
  return glibc_open(path, RTLD_NOW | RTLD_LOCAL);
}

/** Looks where the loader looks for libraries of the object that has an address. */
static void *open_for(const void *address) {
  Dl_info object;
  struct link_map *map = NULL;
  Dl_serinfo size;
  if (!dladdr1(address, &object, (void **)&map, RTLD_DL_LINKMAP) || !map) return NULL;
  if (dlinfo(map, RTLD_DI_SERINFOSIZE, &size)) return NULL;
  Dl_serinfo *folders = malloc(size.dls_size);
  void *found = NULL;
  if (folders && !dlinfo(map, RTLD_DI_SERINFOSIZE, folders) && !dlinfo(map, RTLD_DI_SERINFO, folders)) {
    for (unsigned i = 0; i < folders->dls_cnt && !found; i++) found = open_in(folders->dls_serpath[i].dls_name);
  }
  free(folders);
  return found;
}

static void *open_theirs(const void *caller) {
  const char *path = atomic_load(&opened);
  void *library = path ? glibc_open(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  return library ? library : open_for(caller);
}

/** Returns whether LD_PRELOAD names this library: gpupool run, or a user, has made the choice. */
static int is_chosen(void) {
  const char *list = getenv("LD_PRELOAD"), *own = own_path();
  return list && own && strstr(list, own);
}

static int serves(void) {
  const struct nccl_table *table = library_table();
  return table && (is_chosen() || table->serves());
}

static void complain(int off) {
  const char *why = off ? "GPUPOOL_NCCL is off" : library_problem();
  fprintf(stderr,
          "gpupool: %s, and there is no libnccl.so.2 of NVIDIA's: install it, or use servers that carry out NCCL's "
          "calls\n",
          why ? why : "the servers of these GPUs do not carry out NCCL's calls");
}

/** Makes the choice for a program that calls from an address. */
static void choose(const void *caller) {
  int off = library_is_off(), own = !off && serves();
  void *library = own ? NULL : open_theirs(caller);
  if (!own && !library) complain(off);
  for (int i = 0; i < ENTRIES; i++) {
    void *function = library ? dlsym(library, entries[i].name) : NULL;
    __atomic_store_n(entries[i].slot, function ? function : entries[i].own, __ATOMIC_RELEASE);
  }
  atomic_store(&theirs, library != NULL);
}

/** Returns whether a function says the same of whatever GPUs, so that a program may call it before it has any. */
static int needs_no_choice(const char *name) {
  static const char *const names[] = {"ncclGetVersion", "ncclGetErrorString", "ncclResetDebugInit",
                                      "ncclResetDebugInitInternal"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) return 1;
  }
  return 0;
}

__attribute__((visibility("hidden"))) void *choice_first(void **slot, const void *caller) {
  for (int i = 0; i < ENTRIES; i++) {
    if (entries[i].slot == slot && needs_no_choice(entries[i].name)) return entries[i].own;
  }
  pthread_mutex_lock(&lock);
  if (!made) choose(caller);
  made = 1;
  pthread_mutex_unlock(&lock);
  return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}
