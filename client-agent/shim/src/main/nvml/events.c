// SPDX-License-Identifier: Apache-2.0
// Sets of events: faults of the lease's GPUs, as the pool tells them.
#include "answers.h"

#include "core/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { DOUBLE_BIT_ERROR = 2, XID_ERROR = 8, UNCORRECTED_MEMORY = 0 };
enum { LOOK_MILLIS = 500, NANOS_PER_MILLI = 1000000, MILLIS_PER_SECOND = 1000 };

/** Which events of a GPU are waited for. */
struct registration {
  unsigned long long types;  // none: the GPU is not in the set
  uint64_t seen;             // so many of its faults are told, or were there before
  uint64_t askedAtNanos;     // when what was last looked at was asked for
};

struct event_set {
  struct event_set *next;
  struct registration gpus[MAX_GPUS];
};

/** Guards the list and what is in it; nothing is asked of the agent while it is held. */
static struct {
  pthread_mutex_t lock;
  struct event_set *first;
} sets = {.lock = PTHREAD_MUTEX_INITIALIZER};

/** Returns the pointer to a set in the list, which is locked; it points to NULL if the set is unknown. */
static struct event_set **place(nvmlEventSet_t set) {
  struct event_set **at = &sets.first;
  while (*at && *at != set) at = &(*at)->next;
  return *at ? at : NULL;
}

static nvmlReturn_t check(nvmlEventSet_t set) {
  if (!lease_is_open()) return NVML_ERROR_UNINITIALIZED;
  pthread_mutex_lock(&sets.lock);
  bool known = place(set);
  pthread_mutex_unlock(&sets.lock);
  return known ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

NVML(nvmlEventSetCreate, nvmlEventSet_t *set) {
  if (!lease_is_open()) return NVML_ERROR_UNINITIALIZED;
  REQUIRE(set);
  struct event_set *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return NVML_ERROR_MEMORY;
  pthread_mutex_lock(&sets.lock);
  fresh->next = sets.first;
  sets.first = fresh;
  pthread_mutex_unlock(&sets.lock);
  *set = fresh;
  return NVML_SUCCESS;
}

NVML(nvmlEventSetFree, nvmlEventSet_t set) {
  if (!lease_is_open()) return NVML_ERROR_UNINITIALIZED;
  pthread_mutex_lock(&sets.lock);
  struct event_set **at = place(set);
  if (at) *at = set->next;
  pthread_mutex_unlock(&sets.lock);
  if (!at) return NVML_ERROR_INVALID_ARGUMENT;
  free(set);
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetSupportedEventTypes, nvmlDevice_t device, unsigned long long *types) {
  TRY(lease_check(device));
  REQUIRE(types);
  *types = XID_ERROR | DOUBLE_BIT_ERROR;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceRegisterEvents, nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
  struct gpu gpu;
  TRY(lease_check(device));
  TRY(check(set));
  if (types & ~(unsigned long long)(XID_ERROR | DOUBLE_BIT_ERROR)) return NVML_ERROR_NOT_SUPPORTED;
  TRY(gpu_now(device, &gpu));
  pthread_mutex_lock(&sets.lock);
  bool known = place(set);
  struct registration *registration = known ? &set->gpus[lease_index(device)] : NULL;
  if (known && !registration->types) registration->seen = gpu.faults;
  if (known) registration->types |= types;
  pthread_mutex_unlock(&sets.lock);
  return known ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/** Takes the next event of a GPU, if there is one that is waited for; the lock is held. */
static bool take(struct registration *registration, const struct gpu *gpu, nvmlEventData_t *data) {
  // Another thread that waits on the set has looked at what was said later.
  if (gpu->askedAtNanos < registration->askedAtNanos) return false;
  registration->askedAtNanos = gpu->askedAtNanos;
  // A restarted server counts from zero. Of many faults, only the last are known.
  if (registration->seen > gpu->faults) registration->seen = gpu->faults;
  if (gpu->faults - registration->seen > gpu->lastFaultCount) {
    registration->seen = gpu->faults - gpu->lastFaultCount;
  }
  while (registration->seen < gpu->faults) {
    unsigned left = (unsigned)(gpu->faults - registration->seen++);
    unsigned xid = gpu->lastFaults[gpu->lastFaultCount - left];
    unsigned type = xid == UNCORRECTED_MEMORY ? DOUBLE_BIT_ERROR : XID_ERROR;
    if (!(registration->types & type)) continue;
    data->type = type;
    data->data = xid;
    return true;
  }
  return false;
}

/** Looks once: SUCCESS with an event, or TIMEOUT. */
static nvmlReturn_t look(nvmlEventSet_t set, nvmlEventData_t *data) {
  struct lease lease;
  TRY(lease_get(&lease));
  for (unsigned i = 0; i < lease.gpus; i++) {
    struct gpu gpu;
    pthread_mutex_lock(&sets.lock);
    bool known = place(set);
    bool registered = known && set->gpus[i].types;
    pthread_mutex_unlock(&sets.lock);
    if (!known) return NVML_ERROR_INVALID_ARGUMENT;
    if (!registered) continue;
    TRY(gpu_now(lease_handle(i), &gpu));
    pthread_mutex_lock(&sets.lock);
    bool found = place(set) && take(&set->gpus[i], &gpu, data);
    pthread_mutex_unlock(&sets.lock);
    if (!found) continue;
    data->device = lease_handle(i);
    data->gpuInstanceId = data->computeInstanceId = NVML_NO_INSTANCE;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_TIMEOUT;
}

NVML(nvmlEventSetWait_v2, nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeoutMillis) {
  TRY(check(set));
  REQUIRE(data);
  uint64_t deadline = now_nanos() + (uint64_t)timeoutMillis * NANOS_PER_MILLI;
  for (;;) {
    nvmlReturn_t result = look(set, data);
    uint64_t now = now_nanos();
    if (result != NVML_ERROR_TIMEOUT || now >= deadline) return result;
    uint64_t millis = (deadline - now + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI;
    if (millis > LOOK_MILLIS) millis = LOOK_MILLIS;
    struct timespec left = {(time_t)(millis / MILLIS_PER_SECOND),
                            (long)(millis % MILLIS_PER_SECOND * NANOS_PER_MILLI)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
  }
}

NVML(nvmlEventSetWait, nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeoutMillis) {
  return nvmlEventSetWait_v2(set, data, timeoutMillis);
}
