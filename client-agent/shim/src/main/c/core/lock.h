// SPDX-License-Identifier: Apache-2.0
// A lock that spins briefly and then sleeps on a futex. Not recursive; all zero bytes is unlocked, so
// that a forked child can reset it if a thread that is gone held it.
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct lock {
  _Atomic uint32_t word;  // 0 free, 1 held, 2 held and somebody sleeps
};

static inline void cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/** Sleeps while the word has this value; wakes early now and then. timeout may be NULL. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout) {
  syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
}

static inline bool lock_try(struct lock *lock) {
  uint32_t expected = 0;
  return atomic_compare_exchange_strong_explicit(&lock->word, &expected, 1, memory_order_seq_cst, memory_order_relaxed);
}

/** The slow path of lock_take. */
void lock_sleep(struct lock *lock);

static inline void lock_take(struct lock *lock) {
  if (!lock_try(lock)) lock_sleep(lock);
}

/** A full barrier, too: a thread that is seen not to have stored yet sees what was stored before. */
static inline void lock_release(struct lock *lock) {
  if (atomic_exchange(&lock->word, 0) == 2) futex_wake(&lock->word, 1);
}
