// SPDX-License-Identifier: Apache-2.0
#include "core/lock.h"

#include <stdatomic.h>

enum { SPINS = 100 };

void lock_sleep(struct lock *lock) {
  for (int i = 0; i < SPINS; i++) {
    if (atomic_load_explicit(&lock->word, memory_order_relaxed) == 0 && lock_try(lock)) return;
    cpu_relax();
  }
  while (atomic_exchange(&lock->word, 2) != 0) {
    futex_wait(&lock->word, 2, NULL);
  }
}
