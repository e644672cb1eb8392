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
#include "stream/route.h"

enum mirror_flags {
  MIRROR_ZEROED = 1,  // host memory is zero, and the device's is made so
  MIRROR_FETCHED = 2,  // the device's contents are the first ones, else the host's
  MIRROR_ALWAYS = 4,  // the host may write at any time: kept twice here
};

extern uint32_t mirrorCount;
extern uint32_t mirrorShadowCount;  // of mapped memory

/** Joins host and device memory. The contents of the two agree when this returns, or at the next launch. */
CUresult mirror_add(struct context *context, void *host, uint64_t device, uint64_t bytes,
                    unsigned int flags);

/** Parts them; false if no mirror begins at this device address. */
bool mirror_drop(uint64_t device);

/** The host may write to it at any time from now on. */
void mirror_loosen(uint64_t device);

/** Whether some host memory is a mirror's. */
bool mirror_overlaps(const void *host, uint64_t bytes);

/** Forgets those of a context, which the worker forgets by itself. */
void mirrors_forget(struct context *context);

void mirrors_reset(void);

CUresult mirrors_publish(struct context *context, uint32_t stream);
CUresult mirrors_collect(struct context *context, uint32_t stream, uint64_t mark);
uint64_t mirrors_now(void);

/** Brings what the host changed of mapped memory to the device, and back, while kernels run. */
CUresult mirrors_exchange(void);

/** Before work that may touch device memory is sent to a stream; 0: no work is, just contents are. */
static inline CUresult mirror_before(struct context *context, uint32_t stream) {
  return LIKELY(!__atomic_load_n(&mirrorCount, __ATOMIC_RELAXED)) ? CUDA_SUCCESS
                                                                  : mirrors_publish(context, stream);
}

/** Taken before a wait is sent, for mirror_after. */
static inline uint64_t mirror_mark(void) {
  return LIKELY(!__atomic_load_n(&mirrorCount, __ATOMIC_RELAXED)) ? 0 : mirrors_now();
}

/** After a wait for a stream has ended; 0: for all of the context. */
static inline CUresult mirror_after(struct context *context, uint32_t stream, uint64_t mark) {
  if (route_several()) {
    CUresult result = route_settle(context);
    if (result) return result;
  }
  return LIKELY(!__atomic_load_n(&mirrorCount, __ATOMIC_RELAXED))
             ? CUDA_SUCCESS
             : mirrors_collect(context, stream, mark);
}
