// SPDX-License-Identifier: Apache-2.0
// Memory that the program and a device each have a copy of: managed, mapped and registered memory.
//
// Before work that may touch device memory is sent, what the host changed goes to the device; when a
// wait for the device has ended, what the device changed comes to the host. Changes are noticed by
// fingerprints of blocks, on either side, so that nothing is protected: no access faults, in the program
// or in a system call. Managed memory is looked through once between two waits, because the host may not
// touch it meanwhile (CONCURRENT_MANAGED_ACCESS is 0). Mapped memory is looked through before each launch,
// and kept twice, because host and kernels may change different words of it at the same time.
#pragma once

#include "context/context.h"

enum mirror_flags {
  MIRROR_ZEROED = 1,  // host memory is zero, and the device's is made so
  MIRROR_FETCHED = 2,  // the device's contents are the first ones, else the host's
  MIRROR_ALWAYS = 4,  // the host may write at any time: kept twice here
};

/** Joins host and device memory. The contents of the two agree when this returns, or at the next launch. */
CUresult mirror_add(struct context *context, void *host, uint64_t device, uint64_t bytes,
                    unsigned int flags);

/** Parts them; false if no mirror begins at this device address. */
bool mirror_drop(uint64_t device);

/** The host may write to it at any time from now on. */
void mirror_loosen(uint64_t device);

/** Returns whether some host memory is a mirror's. */
bool mirror_overlaps(const void *host, uint64_t bytes);

/** Brings what the host changed of mapped memory to the device, and back, while kernels run. */
CUresult mirrors_exchange(void);
