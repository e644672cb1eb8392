// SPDX-License-Identifier: Apache-2.0
/*
 * A libnvidia-ml.so.1 for tests. What it tells stands in the file that TESTNVML names, and is read
 * again at each call; the faults in it are told once each, in their order:
 *
 *   gpu UUID                    a card
 *   slice UUID INSTANCE         a part of the card before it (MIG)
 *   condition UUID WORD         of a card: lost, pending, failed (rows of memory to be remapped)
 *   fault UUID XID [INSTANCE]   of a card; XID 0: an error of memory that could not be corrected
 *   peers UUID UUID             two cards that reach each other's memory
 *   sensor UUID WORD NUMBER     of a card: power, limit, fan, performance, clock0 to clock3, errors0, errors1;
 *                               what is not there is not supported
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, TIMEOUT = 10, GPU_IS_LOST = 15 };
enum { MAX_DEVICES = 16, UUID_BYTES = 96, MAX_SET_MILLIS = 20 };
enum { DOUBLE_BIT_ERROR = 2, XID = 8, MAX_SENSORS = 16 };

struct sensor {
  char name[16];
  unsigned value;
};

struct device {
  char uuid[UUID_BYTES];
  struct device *card;  // itself, unless a slice
  unsigned instance;
  uint32_t peers;  // bit i: the device of that place
  char condition[16];
  struct sensor sensors[MAX_SENSORS];
};

struct fault {
  void *card;
  uint64_t type, data;
  unsigned gpuInstance, computeInstance;
};

static struct device devices[MAX_DEVICES];
static int deviceCount, faultsTold;

static struct device *named(const char *uuid) {
  for (int i = 0; i < deviceCount; i++) {
    if (strcmp(devices[i].uuid, uuid) == 0) return &devices[i];
  }
  return NULL;
}

static void add(const char *uuid, struct device *card, unsigned instance) {
  struct device *known = named(uuid);
  struct device *device = known ? known : &devices[deviceCount++];
  snprintf(device->uuid, sizeof device->uuid, "%s", uuid);
  device->card = card ? card : device;
  device->instance = instance;
  strcpy(device->condition, "ok");
}

static struct sensor *sensor(struct device *device, const char *name) {
  struct sensor *at = device->sensors;
  while (*at->name && strcmp(at->name, name) != 0) at++;
  return at;
}

/** Reads the file; the fault after so many others, if there is one. */
static int read_file(int skip, struct fault *fault) {
  const char *path = getenv("TESTNVML");
  FILE *file = path ? fopen(path, "re") : NULL;
  char line[256], uuid[UUID_BYTES], other[UUID_BYTES], word[16];
  struct device *card = NULL;
  unsigned number, instance;
  int found = 0;
  if (!file) return 0;
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "gpu %95s", uuid) == 1) {
      add(uuid, NULL, UINT32_MAX);
      card = named(uuid);
    } else if (sscanf(line, "slice %95s %u", uuid, &instance) == 2) {
      add(uuid, card, instance);
    } else if (sscanf(line, "condition %95s %15s", uuid, word) == 2) {
      strcpy(named(uuid)->condition, word);
    } else if (sscanf(line, "peers %95s %95s", uuid, other) == 2) {
      named(uuid)->peers |= 1u << (named(other) - devices);
      named(other)->peers |= 1u << (named(uuid) - devices);
    } else if (sscanf(line, "sensor %95s %15s %u", uuid, word, &number) == 3) {
      struct sensor *told = sensor(named(uuid), word);
      strcpy(told->name, word);
      told->value = number;
    } else if (sscanf(line, "fault %95s %u %u", uuid, &number, &instance) >= 2 && !found && skip-- == 0) {
      if (sscanf(line, "fault %*s %*u %u", &instance) != 1) instance = UINT32_MAX;
      *fault = (struct fault){named(uuid), number ? XID : DOUBLE_BIT_ERROR, number, instance, UINT32_MAX};
      found = 1;
    }
  }
  fclose(file);
  return found;
}

static int is_lost(const struct device *device) {
  struct fault ignored;
  read_file(-1, &ignored);
  return strcmp(device->card->condition, "lost") == 0;
}

int nvmlInit_v2(void) {
  struct fault ignored;
  read_file(-1, &ignored);
  return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
  snprintf(version, length, "580.65.06");
  return SUCCESS;
}

static struct device *card_at(unsigned index) {
  for (int i = 0; i < deviceCount; i++) {
    if (devices[i].card == &devices[i] && index-- == 0) return &devices[i];
  }
  return NULL;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  for (*count = 0; card_at(*count); ++*count) {
  }
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  *device = card_at(index);
  return *device ? SUCCESS : NOT_FOUND;
}

static struct device *slice_at(const struct device *card, unsigned index) {
  for (int i = 0; i < deviceCount; i++) {
    if (devices[i].card == card && &devices[i] != card && index-- == 0) return &devices[i];
  }
  return NULL;
}

int nvmlDeviceGetMigMode(struct device *card, unsigned *current, unsigned *pending) {
  *current = *pending = slice_at(card, 0) != NULL;
  return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(struct device *card, unsigned *count) {
  (void)card;
  *count = 7;
  return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(struct device *card, unsigned index, struct device **slice) {
  *slice = slice_at(card, index);
  return *slice ? SUCCESS : NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(struct device *slice, unsigned *id) {
  *id = slice->instance;
  return SUCCESS;
}

int nvmlDeviceGetP2PStatus(struct device *card, struct device *other, int capability, unsigned *status) {
  enum { READ = 0, WRITE = 1, OK = 0, NO = 5 };
  bool is = (capability == READ || capability == WRITE) && card->peers >> (other - devices) & 1;
  *status = is ? OK : NO;
  return SUCCESS;
}

int nvmlDeviceGetUUID(struct device *device, char *uuid, unsigned length) {
  snprintf(uuid, length, "%s", device->uuid);
  return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(struct device *device, uint64_t memory[3]) {
  if (is_lost(device)) return GPU_IS_LOST;
  memory[0] = 1 << 30;
  memory[2] = 1 << 20;
  memory[1] = memory[0] - memory[2];
  return SUCCESS;
}

int nvmlDeviceGetRemappedRows(struct device *card, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                              unsigned *failed) {
  if (is_lost(card)) return GPU_IS_LOST;
  *corrected = *uncorrected = 0;
  *pending = strcmp(card->condition, "pending") == 0;
  *failed = strcmp(card->condition, "failed") == 0;
  return SUCCESS;
}

int nvmlDeviceGetTemperature(struct device *card, int sensor, unsigned *celsius) {
  (void)card;
  (void)sensor;
  *celsius = 41;
  return SUCCESS;
}

static int read_sensor(struct device *card, const char *name, unsigned *value) {
  struct sensor *found = sensor(card, name);
  if (!*found->name) return NOT_SUPPORTED;
  *value = found->value;
  return SUCCESS;
}

int nvmlDeviceGetPowerUsage(struct device *card, unsigned *milliwatts) {
  return read_sensor(card, "power", milliwatts);
}

int nvmlDeviceGetEnforcedPowerLimit(struct device *card, unsigned *milliwatts) {
  return read_sensor(card, "limit", milliwatts);
}

int nvmlDeviceGetFanSpeed(struct device *card, unsigned *percent) { return read_sensor(card, "fan", percent); }

int nvmlDeviceGetPerformanceState(struct device *card, unsigned *state) {
  return read_sensor(card, "performance", state);
}

int nvmlDeviceGetClockInfo(struct device *card, unsigned type, unsigned *megahertz) {
  return read_sensor(card, (char[]){'c', 'l', 'o', 'c', 'k', (char)('0' + type), 0}, megahertz);
}

int nvmlDeviceGetTotalEccErrors(struct device *card, unsigned type, unsigned counter, uint64_t *count) {
  unsigned value = 0;
  int result = read_sensor(card, type ? "errors1" : "errors0", &value);
  (void)counter;
  *count = value;
  return result;
}

int nvmlEventSetCreate(void **set) {
  *set = &faultsTold;
  return SUCCESS;
}

int nvmlDeviceGetSupportedEventTypes(struct device *card, uint64_t *types) {
  (void)card;
  *types = DOUBLE_BIT_ERROR | XID;
  return SUCCESS;
}

int nvmlDeviceRegisterEvents(struct device *card, uint64_t types, void *set) {
  (void)card;
  (void)types;
  (void)set;
  return SUCCESS;
}

int nvmlEventSetWait_v2(void *set, struct fault *fault, unsigned timeoutMillis) {
  (void)set;
  if (read_file(faultsTold, fault)) {
    faultsTold++;
    return SUCCESS;
  }
  usleep(1000 * (timeoutMillis < MAX_SET_MILLIS ? timeoutMillis : MAX_SET_MILLIS));
  return TIMEOUT;
}
