// SPDX-License-Identifier: Apache-2.0
// The program's lease as the agent shows it. docs/design/call-stream.md, "Shim and agent".
#pragma once

#include "nvml.h"

#include <stdbool.h>

enum { MAX_GPUS = 64, MAX_PROCESSES = 64, MAX_FAULTS = 8, MICROS = 1000000 };

/** The measurements of a card. */
enum measure {
  TEMPERATURE_CELSIUS,
  POWER_MILLIWATTS,
  POWER_LIMIT_MILLIWATTS,
  FAN_PERCENT,
  PERFORMANCE_STATE,
  GRAPHICS_MEGAHERTZ,
  SM_MEGAHERTZ,
  MEMORY_MEGAHERTZ,
  VIDEO_MEGAHERTZ,
  CORRECTED_ERRORS,
  UNCORRECTED_ERRORS,
  MEASURES
};

enum { NOT_MEASURED = -1 };

struct gpu_process {
  unsigned pid;
  uint64_t bytes;
  char name[64];
};

/** A GPU of the lease; its address is NVML's handle. */
struct gpu {
  uint64_t askedAtNanos;  // 0: never
  char name[96];
  char uuid[48];
  char server[128];
  char backend[16];
  unsigned domain, bus, device;  // PCI
  unsigned ccMajor, ccMinor;
  uint64_t memoryBytes, usedBytes;
  unsigned computeBasisPoints;  // the lease's share of the GPU
  unsigned busyBasisPoints;     // of the GPU's time, in the last seconds
  unsigned multiprocessors, clockKilohertz, memoryClockKilohertz, busBits;
  uint64_t peers;              // bit i: it reaches the memory of GPU i of the lease, as the driver tells
  int64_t measured[MEASURES];  // NOT_MEASURED: the pool does not say
  uint64_t faults;             // so far; of the last of them there are the numbers (XID)
  unsigned lastFaultCount;
  unsigned lastFaults[MAX_FAULTS];
  unsigned processCount;
  struct gpu_process processes[MAX_PROCESSES];
};

struct lease {
  unsigned gpus;
  int cudaVersion;
  char driver[80];
};

/** Counts an nvmlInit; the first one asks the agent. */
nvmlReturn_t lease_open(void);

/** Counts an nvmlShutdown; the last one lets go of the agent. */
nvmlReturn_t lease_close(void);

bool lease_is_open(void);

/** A copy of the whole; UNINITIALIZED before nvmlInit. */
nvmlReturn_t lease_get(struct lease *lease);

/** Returns whether this is a handle that was given out; UNINITIALIZED or INVALID_ARGUMENT otherwise. */
nvmlReturn_t lease_check(nvmlDevice_t device);

/** The handle of a GPU of the lease, from 0. */
nvmlDevice_t lease_handle(unsigned index);

unsigned lease_index(nvmlDevice_t device);

/** A copy of what was said of a GPU, whenever that was: for what does not change. */
nvmlReturn_t gpu_known(nvmlDevice_t device, struct gpu *gpu);

/** A copy of what is said of a GPU now, or was a tenth of a second ago. */
nvmlReturn_t gpu_now(nvmlDevice_t device, struct gpu *gpu);
