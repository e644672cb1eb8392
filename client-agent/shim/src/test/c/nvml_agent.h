// SPDX-License-Identifier: Apache-2.0
// libnvidia-ml.so.1 as tools open it, with an agent that always says the same of a lease of two GPUs.
#pragma once

#include "../../main/nvml/nvml.h"
#include "../../main/nvml/usage.h"
#include "harness.h"
#include "transport/text_message.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LIBRARY "target/libnvidia-ml.so.1"

enum { GIB = 1 << 30 };

typedef nvmlReturn_t call(void *, void *, void *, void *, void *, void *);

static void *library;
static char socketName[64];
static _Atomic int connections;  // of the agent, so far
static bool refusing;    // what it says from now on
static _Atomic bool hangingUp;  // at the next question, as an agent that was killed
static bool ticketIsOld;        // the lease that a ticket shows has ended
static char shown[64];          // the latest ticket of a first question
static bool together;    // both GPUs are of one server, and the first one reaches the other
static unsigned long long usedBytes = 3u << 20;
static const char *faults[2];  // of the first GPU: how many, and their numbers; NULL: none

static inline void answer(struct text_message *message) {
  char gpu[16], number[32];
  text_get(message, "gpu", gpu, sizeof gpu);
  if (!*gpu) text_get(message, "ticket", shown, sizeof shown);
  bool ended = ticketIsOld && !*gpu && *shown;
  text_begin(message);
  if (refusing || ended) {
    text_add(message, "type", "refused");
    text_add(message, "cause", "refused");
    text_add(message, "message", "the lease has ended");
    return;
  }
  text_add(message, "type", "nvml");
  if (!*gpu) {
    text_add(message, "ticket", *shown ? shown : ticketIsOld ? "L10.new" : "L9.made");
    text_add(message, "gpus", "2");
    text_add(message, "cuda", "12080");
    text_add(message, "driver", "570.86.15");
    return;
  }
  bool first = *gpu == '0';
  text_add(message, "name", first ? "NVIDIA H100 80GB HBM3" : "soft GPU");
  text_add(message, "uuid",
           first ? "GPU-00112233-4455-6677-8899-aabbccddeeff"
                 : "GPU-ffeeddcc-bbaa-9988-7766-554433221100");
  text_add(message, "server", first || together ? "one" : "other");
  text_add(message, "backend", first || together ? "nvidia" : "soft");
  text_add(message, "peers", first && together ? "1" : "");
  text_add(message, "pci", first ? "0000:3b:00.0" : "0001:02:03.0");
  text_add(message, "cc", first ? "9.0" : "8.6");
  text_add(message, "memory", "1073741824");
  snprintf(number, sizeof number, "%llu", usedBytes);
  text_add(message, "used", number);
  text_add(message, "compute", "2500");
  text_add(message, "busy", first ? "1000" : "2600");
  text_add(message, "multiprocessors", first ? "132" : "0");
  text_add(message, "clock", "1980000");
  static const char *const measured[][2] = {
      {"temperature", "41"},   {"power", "71250"},   {"power_limit", "700000"}, {"performance", "0"},
      {"graphics_now", "1980"}, {"sm_now", "1965"},  {"memory_now", "2619"},    {"video_now", "1545"},
      {"corrected", "4294967299"}, {"uncorrected", "0"}};
  for (size_t i = 0; first && i < sizeof measured / sizeof *measured; i++) {
    text_add(message, measured[i][0], measured[i][1]);
  }
  if (first && faults[0]) {
    text_add(message, "faults", faults[0]);
    text_add(message, "last_faults", faults[1]);
  }
  text_add(message, "processes", first ? "2" : "0");
  text_add(message, "process.0", "41 1048576 train me");
  text_add(message, "process.1", "42 2097152 serve");
}

static inline void *serve(void *argument) {
  struct text_message message;
  int connection = (int)(intptr_t)argument;
  while (text_receive(&message, connection) && !atomic_exchange(&hangingUp, false)) {
    answer(&message);
    if (!text_send(&message, connection) || refusing) break;
  }
  close(connection);
  return NULL;
}

static inline void *accept_all(void *listening) {
  for (;;) {
    int connection = accept((int)(intptr_t)listening, NULL, NULL);
    pthread_t thread;
    atomic_fetch_add(&connections, 1);
    pthread_create(&thread, NULL, serve, (void *)(intptr_t)connection);
  }
  return NULL;
}

static inline void start_agent(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(socketName, sizeof socketName, "@gpupool-nvml-test-%d", getpid());
  memcpy(address.sun_path + 1, socketName + 1, strlen(socketName) - 1);
  int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(socketName));
  CHECK_OK(bind(listening, (struct sockaddr *)&address, bytes));
  CHECK_OK(listen(listening, 8));
  setenv("GPUPOOL_AGENT", socketName, 1);
  pthread_t thread;
  CHECK_OK(pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listening));
}

static inline call *function(const char *name) {
  call *found;
  *(void **)&found = dlsym(library, name);
  if (!found) fprintf(stderr, "%s\n", dlerror());
  CHECK(found);
  return found;
}

#define CALL(name, ...) (((nvmlReturn_t(*)())(void (*)(void))function(#name))(__VA_ARGS__))

static inline void open_library(void) {
  library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  CHECK(library);
}

/** Opens the library and initialises NVML; returns the handle of a GPU. */
static inline nvmlDevice_t begin(unsigned index) {
  nvmlDevice_t device = NULL;
  start_agent();
  open_library();
  CHECK_OK(CALL(nvmlInit_v2));
  CHECK_OK(CALL(nvmlDeviceGetHandleByIndex_v2, index, &device));
  return device;
}
