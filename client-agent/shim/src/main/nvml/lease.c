// SPDX-License-Identifier: Apache-2.0
#include "lease.h"

#include "transport/agent.h"
#include "core/log.h"
#include "transport/text_message.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRESH_NANOS = 100000000, PROBLEM_BYTES = 1100, VALUE_BYTES = 160 };

/** Everything here, the GPUs and the message is the lock holder's. */
static struct {
  pthread_mutex_t lock;
  unsigned references;
  int agent;       // -1: not connected
  bool complained;  // a line about why there is no lease was printed
  bool forked;      // the lease is that of the process which forked this one
  char ticket[256];  // of a lease that was made for this process
  struct lease lease;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .agent = -1};
static struct gpu gpus[MAX_GPUS];
static struct text_message message;

static void disconnect(void) {
  if (state.agent >= 0) close(state.agent);
  state.agent = -1;
}

/** Runs in a forked child, which has one thread: its first question opens a connection of its own. */
static void after_fork(void) {
  pthread_mutex_init(&state.lock, NULL);
  disconnect();
  state.forked = true;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, after_fork); }

static uint64_t number(const char *key) {
  char value[VALUE_BYTES];
  text_get(&message, key, value, sizeof value);
  return strtoull(value, NULL, 10);
}

/** Reads the answer that has come; what the agent refuses is told in `problem`. */
static nvmlReturn_t take_answer(char *problem) {
  char type[32], cause[32];
  text_get(&message, "type", type, sizeof type);
  if (strcmp(type, "nvml") == 0) return NVML_SUCCESS;
  disconnect();
  if (strcmp(type, "refused") == 0) {
    text_get(&message, "cause", cause, sizeof cause);
    text_get(&message, "message", problem, PROBLEM_BYTES);
    return strcmp(cause, "denied") == 0 ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_DRIVER_NOT_LOADED;
  }
  snprintf(problem, PROBLEM_BYTES,
           "the agent speaks another protocol: use agent and shim of the same gpupool version");
  return NVML_ERROR_DRIVER_NOT_LOADED;
}

static nvmlReturn_t exchange(char *problem) {
  errno = 0;
  if (!text_send(&message, state.agent) || !text_receive(&message, state.agent)) {
    snprintf(problem, PROBLEM_BYTES,
             errno == EAGAIN ? "the agent has been silent for %d s (GPUPOOL_ATTACH_TIMEOUT)"
                             : "the agent hung up without an answer: look at the agent's log",
             agent_patience());
    disconnect();
    return NVML_ERROR_DRIVER_NOT_LOADED;
  }
  return take_answer(problem);
}

/** Connects, and learns of the lease as a whole. */
static nvmlReturn_t ask_lease_once(char *problem) {
  state.agent = agent_connect(problem, PROBLEM_BYTES);
  if (state.agent < 0) return NVML_ERROR_DRIVER_NOT_LOADED;
  agent_describe(&message, "nvml");
  const char *lease = getenv("GPUPOOL_LEASE");
  // An agent that was started again is to hold the lease that the former one made.
  if (*state.ticket && !(lease && *lease)) text_add(&message, state.forked ? "lease" : "ticket", state.ticket);
  nvmlReturn_t result = exchange(problem);
  if (result) return result;
  uint64_t count = number("gpus");
  state.lease.gpus = count < MAX_GPUS ? (unsigned)count : MAX_GPUS;
  state.lease.cudaVersion = (int)number("cuda");
  text_get(&message, "driver", state.lease.driver, sizeof state.lease.driver);
  if (!state.forked) text_get(&message, "ticket", state.ticket, sizeof state.ticket);
  return NVML_SUCCESS;
}

/** Returns whether the lease that was made for this process was shown in vain; it is forgotten then. */
static bool has_lost_lease(void) {
  char type[32], cause[32];
  text_get(&message, "type", type, sizeof type);
  text_get(&message, "cause", cause, sizeof cause);
  if (state.forked || !*state.ticket || strcmp(type, "refused") != 0 || strcmp(cause, "refused") != 0) return false;
  *state.ticket = '\0';
  return true;
}

static nvmlReturn_t ask_lease(char *problem) {
  text_begin(&message);
  nvmlReturn_t result = ask_lease_once(problem);
  return result && has_lost_lease() ? ask_lease_once(problem) : result;
}

static void take_processes(struct gpu *gpu) {
  uint64_t count = number("processes");
  gpu->processCount = count < MAX_PROCESSES ? (unsigned)count : MAX_PROCESSES;
  for (unsigned i = 0; i < gpu->processCount; i++) {
    struct gpu_process *process = &gpu->processes[i];
    char key[32], value[VALUE_BYTES];
    snprintf(key, sizeof key, "process.%u", i);
    text_get(&message, key, value, sizeof value);
    char *rest;
    process->pid = (unsigned)strtoul(value, &rest, 10);
    process->bytes = strtoull(rest, &rest, 10);
    snprintf(process->name, sizeof process->name, "%.63s", *rest ? rest + 1 : "");
  }
}

static void take_measurements(struct gpu *gpu) {
  static const char *const keys[MEASURES] = {
      [TEMPERATURE_CELSIUS] = "temperature",
      [POWER_MILLIWATTS] = "power",
      [POWER_LIMIT_MILLIWATTS] = "power_limit",
      [FAN_PERCENT] = "fan",
      [PERFORMANCE_STATE] = "performance",
      [GRAPHICS_MEGAHERTZ] = "graphics_now",
      [SM_MEGAHERTZ] = "sm_now",
      [MEMORY_MEGAHERTZ] = "memory_now",
      [VIDEO_MEGAHERTZ] = "video_now",
      [CORRECTED_ERRORS] = "corrected",
      [UNCORRECTED_ERRORS] = "uncorrected",
  };
  for (int i = 0; i < MEASURES; i++) {
    char value[VALUE_BYTES];
    text_get(&message, keys[i], value, sizeof value);
    gpu->measured[i] = *value ? (int64_t)strtoull(value, NULL, 10) : NOT_MEASURED;
  }
}

static void take_faults(struct gpu *gpu) {
  char value[VALUE_BYTES];
  gpu->faults = number("faults");
  gpu->lastFaultCount = 0;
  text_get(&message, "last_faults", value, sizeof value);
  for (char *at = value, *rest = value; gpu->lastFaultCount < MAX_FAULTS; at = rest) {
    unsigned fault = (unsigned)strtoul(at, &rest, 10);
    if (rest == at) return;
    gpu->lastFaults[gpu->lastFaultCount++] = fault;
  }
}

static void take_peers(struct gpu *gpu) {
  char value[VALUE_BYTES];
  gpu->peers = 0;
  text_get(&message, "peers", value, sizeof value);
  for (char *at = value, *rest = value;; at = rest) {
    unsigned long peer = strtoul(at, &rest, 10);
    if (rest == at) return;
    if (peer < MAX_GPUS) gpu->peers |= (uint64_t)1 << peer;
  }
}

static void take_gpu(struct gpu *gpu, unsigned index) {
  char value[VALUE_BYTES];
  text_get(&message, "name", gpu->name, sizeof gpu->name);
  text_get(&message, "uuid", gpu->uuid, sizeof gpu->uuid);
  text_get(&message, "server", gpu->server, sizeof gpu->server);
  text_get(&message, "backend", gpu->backend, sizeof gpu->backend);
  text_get(&message, "pci", value, sizeof value);
  if (sscanf(value, "%x:%x:%x", &gpu->domain, &gpu->bus, &gpu->device) != 3) {
    gpu->domain = gpu->device = 0;
    gpu->bus = index + 1;
  }
  text_get(&message, "cc", value, sizeof value);
  if (sscanf(value, "%u.%u", &gpu->ccMajor, &gpu->ccMinor) != 2) gpu->ccMajor = gpu->ccMinor = 0;
  gpu->memoryBytes = number("memory");
  gpu->usedBytes = number("used");
  gpu->computeBasisPoints = (unsigned)number("compute");
  gpu->busyBasisPoints = (unsigned)number("busy");
  gpu->multiprocessors = (unsigned)number("multiprocessors");
  gpu->clockKilohertz = (unsigned)number("clock");
  gpu->memoryClockKilohertz = (unsigned)number("memory_clock");
  gpu->busBits = (unsigned)number("bus_bits");
  take_measurements(gpu);
  take_faults(gpu);
  take_peers(gpu);
  take_processes(gpu);
}

static nvmlReturn_t ask_gpu(unsigned index, char *problem) {
  char text[16];
  snprintf(text, sizeof text, "%u", index);
  for (int attempt = 0;; attempt++) {
    nvmlReturn_t result = state.agent < 0 ? ask_lease(problem) : NVML_SUCCESS;
    if (result) return result;
    text_begin(&message);
    text_add(&message, "type", "nvml");
    text_add(&message, "gpu", text);
    result = exchange(problem);
    if (!result) {
      take_gpu(&gpus[index], index);
      gpus[index].askedAtNanos = now_nanos();
      return NVML_SUCCESS;
    }
    // An agent that was started again, or a lease that has ended: the second try tells.
    if (attempt) return result;
  }
}

/** Locks the state, for any thread; fails before nvmlInit. */
static nvmlReturn_t enter(void) {
  pthread_mutex_lock(&state.lock);
  if (state.references) return NVML_SUCCESS;
  pthread_mutex_unlock(&state.lock);
  return NVML_ERROR_UNINITIALIZED;
}

static void leave(void) { pthread_mutex_unlock(&state.lock); }

nvmlReturn_t lease_open(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  char problem[PROBLEM_BYTES] = "";
  nvmlReturn_t result = NVML_SUCCESS;
  pthread_mutex_lock(&state.lock);
  if (!state.references) {
    log_configure();
    result = ask_lease(problem);
    if (result && !state.complained) {
      state.complained = true;
      log_line(LOG_ERROR, "%s (NVML_ERROR_%s)", problem,
               result == NVML_ERROR_NO_PERMISSION ? "NO_PERMISSION" : "DRIVER_NOT_LOADED");
    }
  }
  if (!result) {
    state.complained = false;
    state.references++;
  }
  leave();
  return result;
}

nvmlReturn_t lease_close(void) {
  nvmlReturn_t result = enter();
  if (result) return result;
  if (!--state.references) {
    disconnect();
    state.forked = false;
    *state.ticket = '\0';
    for (unsigned i = 0; i < MAX_GPUS; i++) gpus[i].askedAtNanos = 0;
  }
  leave();
  return NVML_SUCCESS;
}

bool lease_is_open(void) {
  if (enter()) return false;
  leave();
  return true;
}

nvmlReturn_t lease_get(struct lease *lease) {
  nvmlReturn_t result = enter();
  if (result) return result;
  *lease = state.lease;
  leave();
  return NVML_SUCCESS;
}

nvmlReturn_t lease_check(nvmlDevice_t device) {
  nvmlReturn_t result = enter();
  if (result) return result;
  uintptr_t offset = (uintptr_t)device - (uintptr_t)gpus;
  bool ours = offset < state.lease.gpus * sizeof *gpus && offset % sizeof *gpus == 0;
  leave();
  return ours ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlDevice_t lease_handle(unsigned index) { return &gpus[index]; }

unsigned lease_index(nvmlDevice_t device) {
  return (unsigned)(((uintptr_t)device - (uintptr_t)gpus) / sizeof *gpus);
}

/** A copy no older than that; what is there already stands in for an agent that is gone, if any is. */
static nvmlReturn_t copy(nvmlDevice_t device, uint64_t ageNanos, struct gpu *gpu) {
  nvmlReturn_t result = lease_check(device);
  if (result) return result;
  char problem[PROBLEM_BYTES] = "";
  result = enter();
  if (result) return result;
  if (!device->askedAtNanos || now_nanos() - device->askedAtNanos > ageNanos) {
    result = ask_gpu(lease_index(device), problem);
    if (result) log_line(LOG_INFO, "NVML: %s", problem);
  }
  *gpu = *device;
  leave();
  return result ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

nvmlReturn_t gpu_known(nvmlDevice_t device, struct gpu *gpu) {
  return copy(device, UINT64_MAX, gpu);
}

nvmlReturn_t gpu_now(nvmlDevice_t device, struct gpu *gpu) {
  return copy(device, FRESH_NANOS, gpu);
}
