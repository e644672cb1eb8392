// SPDX-License-Identifier: Apache-2.0
// Sets of events: they can be waited for, and none comes.
#include "answers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { XID_CRITICAL_ERROR = 8 };

struct event_set {
  struct event_set *next;
};

static struct {
  pthread_mutex_t lock;
  struct event_set *first;
} sets = {.lock = PTHREAD_MUTEX_INITIALIZER};

/** Where a set hangs in the list, whose lock is held; NULL if it is none of ours. */
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
  struct event_set *fresh = malloc(sizeof *fresh);
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
  *types = XID_CRITICAL_ERROR;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceRegisterEvents, nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
  TRY(lease_check(device));
  TRY(check(set));
  return types & ~(unsigned long long)XID_CRITICAL_ERROR ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

NVML(nvmlEventSetWait_v2, nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeoutMillis) {
  TRY(check(set));
  REQUIRE(data);
  struct timespec left = {timeoutMillis / 1000, timeoutMillis % 1000 * 1000000L};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
  return NVML_ERROR_TIMEOUT;
}

NVML(nvmlEventSetWait, nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeoutMillis) {
  return nvmlEventSetWait_v2(set, data, timeoutMillis);
}
