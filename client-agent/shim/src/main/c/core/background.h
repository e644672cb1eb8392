// SPDX-License-Identifier: Apache-2.0
// Threads of the shim's own.
#pragma once

#include <stdbool.h>

/** Starts a thread with all signals blocked, so that no handler of the program runs on it; it is never joined. */
bool background_start(void *(*run)(void *argument), void *argument);
