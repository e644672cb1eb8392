// SPDX-License-Identifier: Apache-2.0
// Waits for the device while mapped memory goes to and fro: a kernel may be waiting for a word that another
// thread of the program writes, or that thread for one of the kernel's.
#pragma once

#include "memory/mirror.h"

void mirror_wait_enter(void);
void mirror_wait_leave(void);

/** In a forked child. */
void mirror_wait_reset(void);

/** Before a wait is sent; what it answers is for mirror_wait_end. */
static inline bool mirror_wait_begin(void) {
  if (LIKELY(!__atomic_load_n(&mirrorShadowCount, __ATOMIC_RELAXED))) return false;
  mirror_wait_enter();
  return true;
}

static inline void mirror_wait_end(bool begun) {
  if (UNLIKELY(begun)) mirror_wait_leave();
}
