// SPDX-License-Identifier: Apache-2.0
// Forks: a child shares no session with its parent. It starts without one, and may attach to one of its own.
#pragma once

#include "core/hooks.h"

typedef void fork_hook(void);

/**
 * Adds a function that runs in a forked child, which has one thread: it forgets what belongs to the parent's session,
 * and frees locks whose holders are gone. It must not allocate or free, because malloc may be locked.
 */
#define ON_FORK(function) HOOK(fork, fork_hook, function)

/** Has the hooks run at every fork from now on. */
void fork_watch(void);
