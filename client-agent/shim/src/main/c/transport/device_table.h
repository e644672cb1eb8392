// SPDX-License-Identifier: Apache-2.0
// The devices of the session, as WELCOME described them. Read-only once loaded.
#pragma once

#include "core/driver.h"

enum { MAX_DEVICES = 64, MIN_ATTRIBUTES = 98, MAX_ATTRIBUTES = 1024, ATTRIBUTE_UNSUPPORTED = INT32_MIN };

struct device {
  uint32_t connection;     // of the session
  uint32_t ordinal;  // on its connection
  uint32_t attributeCount;
  char name[256];
  uint8_t uuid[16];
  char pciBusId[16];
  uint64_t totalMemoryBytes;
  const int32_t *attributes;
};

/** Takes the WELCOME of a connection apart, whose devices follow those there are. NULL, or what is wrong with it. */
const char *devices_load(uint32_t connection, const uint8_t *welcome, uint32_t bytes);

/** Leaves these devices, in this order. */
void devices_keep(const struct device *kept, uint32_t count);

uint32_t devices_count(void);

/** The CUDA version of the oldest driver of the session, as CUDA counts; 0: there is no session. */
int devices_driver_version(void);

/** The CUDA version that programs are told: the drivers', but none newer than the shim speaks. */
int devices_cuda_version(void);

/** Returns a device of the session, or NULL. */
const struct device *device_find(CUdevice ordinal);

/** The ordinal on its connection of a device that there is. */
uint32_t device_ordinal(CUdevice device);

/** The connection of a device that there is. */
uint32_t device_connection(CUdevice device);

/** The device of an ordinal of a connection; false if the program does not see it. */
bool device_of_ordinal(uint32_t connection, uint32_t ordinal, CUdevice *device);

/** Returns whether the program may place small allocations on a device that there is. */
bool device_allocates_at(CUdevice device);

/** Returns whether NCCL's calls are carried out at the servers of all devices. */
bool devices_have_collectives(void);

/** The value of an attribute as programs see it; ATTRIBUTE_UNSUPPORTED if there is none. */
int32_t device_attribute(CUdevice ordinal, int attribute);
