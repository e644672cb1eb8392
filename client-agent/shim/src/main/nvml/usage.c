// SPDX-License-Identifier: Apache-2.0
// Memory, time and processes: the lease's.
#include "answers.h"
#include "usage.h"

#include <stdlib.h>

enum { WHOLE_PERCENT = 100, MODE_COMPUTE = 0, MODE_MPS = 2 };

NVML(nvmlDeviceGetMemoryInfo, nvmlDevice_t device, nvmlMemory_t *memory) {
  struct gpu gpu;
  TRY(gpu_now(device, &gpu));
  REQUIRE(memory);
  uint64_t used = gpu.usedBytes < gpu.memoryBytes ? gpu.usedBytes : gpu.memoryBytes;
  *memory = (nvmlMemory_t){gpu.memoryBytes, gpu.memoryBytes - used, used};
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetMemoryInfo_v2, nvmlDevice_t device, nvmlMemory_v2_t *memory) {
  nvmlMemory_t plain;
  TRY(lease_check(device));
  REQUIRE(memory);
  if (memory->version != NVML_VERSION(nvmlMemory_v2_t, 2)) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  TRY(nvmlDeviceGetMemoryInfo(device, &plain));
  memory->total = plain.total;
  memory->reserved = 0;
  memory->free = plain.free;
  memory->used = plain.used;
  return NVML_SUCCESS;
}

NVML(nvmlDeviceGetUtilizationRates, nvmlDevice_t device, nvmlUtilization_t *rates) {
  struct gpu gpu;
  TRY(gpu_now(device, &gpu));
  REQUIRE(rates);
  unsigned share = gpu.computeBasisPoints ? gpu.computeBasisPoints : 1;
  unsigned percent = (gpu.busyBasisPoints * WHOLE_PERCENT + share / 2) / share;
  rates->gpu = percent < WHOLE_PERCENT ? percent : WHOLE_PERCENT;
  rates->memory = 0;
  return NVML_SUCCESS;
}

/** How a process is written into the caller's array. */
typedef void put_process(void *to, const struct gpu_process *process);

static void put_v1(void *to, const struct gpu_process *process) {
  *(nvmlProcessInfo_v1_t *)to = (nvmlProcessInfo_v1_t){process->pid, process->bytes};
}

static void put_v2(void *to, const struct gpu_process *process) {
  *(nvmlProcessInfo_v2_t *)to =
      (nvmlProcessInfo_v2_t){process->pid, process->bytes, NVML_NO_INSTANCE, NVML_NO_INSTANCE};
}

static void put_detail(void *to, const struct gpu_process *process) {
  *(nvmlProcessDetail_t *)to = (nvmlProcessDetail_t){
      process->pid, process->bytes, NVML_NO_INSTANCE, NVML_NO_INSTANCE, 0};
}

static void put_named(void *to, const struct gpu_process *process) {
  struct named_process *entry = to;
  put_detail(&entry->detail, process);
  snprintf(entry->name, sizeof entry->name, "%s", process->name);
}

static nvmlReturn_t put_all(nvmlDevice_t device, unsigned *count, void *to, size_t bytes,
                            put_process *put) {
  struct gpu gpu;
  TRY(gpu_now(device, &gpu));
  if (!count || (*count && !to)) return NVML_ERROR_INVALID_ARGUMENT;
  unsigned room = *count;
  *count = gpu.processCount;
  if (gpu.processCount > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < gpu.processCount; i++) put((char *)to + i * bytes, &gpu.processes[i]);
  return NVML_SUCCESS;
}

nvmlReturn_t named_processes(nvmlDevice_t device, unsigned *count, struct named_process *to) {
  return put_all(device, count, to, sizeof *to, put_named);
}

NVML(nvmlDeviceGetComputeRunningProcesses, nvmlDevice_t device, unsigned *count,
     nvmlProcessInfo_v1_t *processes) {
  return put_all(device, count, processes, sizeof *processes, put_v1);
}

NVML(nvmlDeviceGetComputeRunningProcesses_v2, nvmlDevice_t device, unsigned *count,
     nvmlProcessInfo_v2_t *processes) {
  return put_all(device, count, processes, sizeof *processes, put_v2);
}

NVML(nvmlDeviceGetComputeRunningProcesses_v3, nvmlDevice_t device, unsigned *count,
     nvmlProcessInfo_v2_t *processes) {
  return put_all(device, count, processes, sizeof *processes, put_v2);
}

NVML(nvmlDeviceGetRunningProcessDetailList, nvmlDevice_t device, nvmlProcessDetailList_t *list) {
  TRY(lease_check(device));
  REQUIRE(list);
  if (list->version != NVML_VERSION(nvmlProcessDetailList_t, 1)) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  if (list->mode > MODE_MPS) return NVML_ERROR_INVALID_ARGUMENT;
  if (list->mode == MODE_COMPUTE) {
    return put_all(device, &list->count, list->processes, sizeof *list->processes, put_detail);
  }
  list->count = 0;
  return NVML_SUCCESS;
}

/** Lists nothing: no process of a lease draws graphics or runs under MPS. */
#define NO_PROCESSES(name)                                              \
  NVML(name, nvmlDevice_t device, unsigned *count, void *processes) {   \
    (void)processes;                                                    \
    return put_number(device, count, 0);                                \
  }

NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)
