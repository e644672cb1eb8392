// SPDX-License-Identifier: Apache-2.0
// The management library of the modelled cards: memory and time, by process.
#include "card.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
};

typedef int nvmlReturn;

/** A card; its file is there once a driver has used it. */
struct device {
  struct card *card;
  uint64_t sampledAt, sampledNanos;
  unsigned busyPercent;
};

/** nvmlMemory_t */
struct memory {
  unsigned long long total, free, used;
};

/** nvmlUtilization_t */
struct utilization {
  unsigned gpu, memory;
};

/** nvmlProcessInfo_t of version 2 */
struct process {
  unsigned pid;
  unsigned long long usedBytes;
  unsigned gpuInstance, computeInstance;
};

static const uint64_t SAMPLE_NANOS = 100000000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device devices[MAX_CARDS];
static bool isInitialized;

static uint32_t index_of(const struct device *device) { return (uint32_t)(device - devices); }

/** The lock is held if the answer is success. */
static nvmlReturn begin(struct device *device) {
  if (!isInitialized) return NVML_ERROR_UNINITIALIZED;
  if (device < devices || device >= devices + options.gpus) return NVML_ERROR_INVALID_ARGUMENT;
  pthread_mutex_lock(&lock);
  if (!device->card) device->card = card_look(index_of(device));
  return NVML_SUCCESS;
}

static nvmlReturn end(nvmlReturn result) {
  pthread_mutex_unlock(&lock);
  return result;
}

API nvmlReturn nvmlInit_v2(void) {
  const char *problem = options_read(getenv("GPUPOOL_MODEL"));
  if (problem) fprintf(stderr, "%s\n", problem);
  isInitialized = !problem && !options.init;
  return isInitialized ? NVML_SUCCESS : NVML_ERROR_DRIVER_NOT_LOADED;
}

API nvmlReturn nvmlShutdown(void) { return isInitialized ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED; }

API const char *nvmlErrorString(nvmlReturn result) {
  switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    default: return "Unknown Error";
  }
}

static nvmlReturn answer(char *text, unsigned length, const char *value) {
  if (strlen(value) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  strcpy(text, value);
  return NVML_SUCCESS;
}

API nvmlReturn nvmlSystemGetDriverVersion(char *text, unsigned length) { return answer(text, length, "580.0"); }

API nvmlReturn nvmlDeviceGetCount_v2(unsigned *count) {
  if (!isInitialized) return NVML_ERROR_UNINITIALIZED;
  *count = options.gpus;
  return NVML_SUCCESS;
}

API nvmlReturn nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device) {
  if (!isInitialized) return NVML_ERROR_UNINITIALIZED;
  if (index >= options.gpus) return NVML_ERROR_INVALID_ARGUMENT;
  *device = devices + index;
  return NVML_SUCCESS;
}

API nvmlReturn nvmlDeviceGetIndex(struct device *device, unsigned *index) {
  nvmlReturn result = begin(device);
  if (result) return result;
  *index = index_of(device);
  return end(NVML_SUCCESS);
}

API nvmlReturn nvmlDeviceGetName(struct device *device, char *text, unsigned length) {
  nvmlReturn result = begin(device);
  return result ? result : end(answer(text, length, "Modelled GPU"));
}

/** The UUID of cuDeviceGetUuid: 15 bytes 6d and the number of the card. */
API nvmlReturn nvmlDeviceGetUUID(struct device *device, char *text, unsigned length) {
  char uuid[48];
  nvmlReturn result = begin(device);
  if (result) return result;
  snprintf(uuid, sizeof uuid, "GPU-6d6d6d6d-6d6d-6d6d-6d6d-6d6d6d6d6d%02x", index_of(device));
  return end(answer(text, length, uuid));
}

API nvmlReturn nvmlDeviceGetMemoryInfo(struct device *device, struct memory *memory) {
  nvmlReturn result = begin(device);
  if (result) return result;
  uint64_t total = device->card ? card_memory(device->card) : options.memoryBytes;
  uint64_t left = device->card ? card_free_memory(device->card) : total;
  *memory = (struct memory){.total = total, .free = left, .used = total - left};
  return end(NVML_SUCCESS);
}

static uint64_t busy_nanos(const struct device *device) {
  struct card_usage usage[MAX_PROCESSES];
  uint32_t count = device->card ? card_usage(device->card, usage) : 0;
  uint64_t nanos = 0;
  for (uint32_t i = 0; i < count; i++) nanos += usage[i].computeNanos;
  return nanos;
}

/** Utilization in the time since the sample before. A process that has ended takes its time with it. */
API nvmlReturn nvmlDeviceGetUtilizationRates(struct device *device, struct utilization *utilization) {
  nvmlReturn result = begin(device);
  if (result) return result;
  uint64_t now = card_now(), passed = now - device->sampledAt;
  if (passed >= SAMPLE_NANOS) {
    uint64_t busy = busy_nanos(device), before = device->sampledNanos;
    uint64_t nanos = device->sampledAt && busy > before ? busy - before : 0;
    device->busyPercent = (unsigned)(nanos >= passed ? 100 : 100 * nanos / passed);
    device->sampledAt = now;
    device->sampledNanos = busy;
  }
  *utilization = (struct utilization){.gpu = device->busyPercent};
  return end(NVML_SUCCESS);
}

API nvmlReturn nvmlDeviceGetComputeRunningProcesses_v3(struct device *device, unsigned *count,
                                                       struct process *processes) {
  nvmlReturn result = begin(device);
  if (result) return result;
  struct card_usage usage[MAX_PROCESSES];
  unsigned room = *count;
  *count = device->card ? card_usage(device->card, usage) : 0;
  if (*count > room || (*count && !processes)) return end(NVML_ERROR_INSUFFICIENT_SIZE);
  for (unsigned i = 0; i < *count; i++) {
    processes[i] = (struct process){.pid = (unsigned)usage[i].pid,
                                    .usedBytes = usage[i].memoryBytes,
                                    .gpuInstance = UINT32_MAX,
                                    .computeInstance = UINT32_MAX};
  }
  return end(NVML_SUCCESS);
}
