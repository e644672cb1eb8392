// SPDX-License-Identifier: Apache-2.0
#include "core/lock.h"

enum { SPINS = 100 };

void lock_sleep(struct lock *lock) {
  for (int i = 0; i < SPINS; i++) {
    if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == 0 && lock_try(lock)) return;
    cpu_relax();
  }
  while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_SEQ_CST) != 0) {
    futex_wait(&lock->word, 2, NULL);
  }
}
