// SPDX-License-Identifier: Apache-2.0
// Measurements of the card, as far as its server passes them on: heat, power, fan, clocks, memory errors.
#include "answers.h"

enum { SENSOR_GPU = 0, FIRST_FAN = 0, CLOCK_NOW = 0, SINCE_START = 0 };
enum { LAST_CLOCK_TYPE = 3, LAST_CLOCK_ID = 3, LAST_ERROR_TYPE = 1, LAST_COUNTER = 1 };

/** Reads a measurement; NOT_SUPPORTED for a card without the sensor. */
static nvmlReturn_t measure(nvmlDevice_t device, enum measure what, int64_t *value) {
  struct gpu gpu;
  TRY(gpu_now(device, &gpu));
  *value = gpu.measured[what];
  return *value == NOT_MEASURED ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

static nvmlReturn_t put_measured(nvmlDevice_t device, enum measure what, unsigned *to) {
  int64_t value;
  TRY(lease_check(device));
  REQUIRE(to);
  TRY(measure(device, what, &value));
  *to = (unsigned)value;
  return NVML_SUCCESS;
}

#define MEASURED(name, what) \
  NVML(name, nvmlDevice_t device, unsigned *to) { return put_measured(device, what, to); }

MEASURED(nvmlDeviceGetPowerUsage, POWER_MILLIWATTS)
MEASURED(nvmlDeviceGetEnforcedPowerLimit, POWER_LIMIT_MILLIWATTS)
MEASURED(nvmlDeviceGetPowerManagementLimit, POWER_LIMIT_MILLIWATTS)
MEASURED(nvmlDeviceGetFanSpeed, FAN_PERCENT)
MEASURED(nvmlDeviceGetPerformanceState, PERFORMANCE_STATE)
MEASURED(nvmlDeviceGetPowerState, PERFORMANCE_STATE)

NVML(nvmlDeviceGetFanSpeed_v2, nvmlDevice_t device, unsigned fan, unsigned *percent) {
  TRY(lease_check(device));
  if (fan != FIRST_FAN) return NVML_ERROR_INVALID_ARGUMENT;
  return nvmlDeviceGetFanSpeed(device, percent);
}

NVML(nvmlDeviceGetTemperature, nvmlDevice_t device, unsigned sensor, unsigned *celsius) {
  TRY(lease_check(device));
  if (sensor != SENSOR_GPU) return NVML_ERROR_INVALID_ARGUMENT;
  return put_measured(device, TEMPERATURE_CELSIUS, celsius);
}

NVML(nvmlDeviceGetTemperatureV, nvmlDevice_t device, nvmlTemperature_t *temperature) {
  unsigned celsius;
  TRY(lease_check(device));
  REQUIRE(temperature);
  if (temperature->version != NVML_VERSION(nvmlTemperature_t, 1)) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  TRY(nvmlDeviceGetTemperature(device, temperature->sensor, &celsius));
  temperature->celsius = (int)celsius;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetClockInfo, nvmlDevice_t device, unsigned type, unsigned *megahertz) {
  static const enum measure clocks[] = {GRAPHICS_MEGAHERTZ, SM_MEGAHERTZ, MEMORY_MEGAHERTZ,
                                        VIDEO_MEGAHERTZ};
  TRY(lease_check(device));
  if (type > LAST_CLOCK_TYPE) return NVML_ERROR_INVALID_ARGUMENT;
  return put_measured(device, clocks[type], megahertz);
}

NVML(nvmlDeviceGetClock, nvmlDevice_t device, unsigned type, unsigned id, unsigned *megahertz) {
  TRY(lease_check(device));
  if (!megahertz || id > LAST_CLOCK_ID) return NVML_ERROR_INVALID_ARGUMENT;
  return id == CLOCK_NOW ? nvmlDeviceGetClockInfo(device, type, megahertz) : NVML_ERROR_NOT_SUPPORTED;
}

NVML(nvmlDeviceGetTotalEccErrors, nvmlDevice_t device, unsigned type, unsigned counter,
     unsigned long long *count) {
  int64_t value;
  TRY(lease_check(device));
  if (!count || type > LAST_ERROR_TYPE || counter > LAST_COUNTER) return NVML_ERROR_INVALID_ARGUMENT;
  if (counter != SINCE_START) return NVML_ERROR_NOT_SUPPORTED;
  TRY(measure(device, type ? UNCORRECTED_ERRORS : CORRECTED_ERRORS, &value));
  *count = (unsigned long long)value;
  return NVML_SUCCESS;
}
