// SPDX-License-Identifier: Apache-2.0
// The beginning of the process's session.
#pragma once

#include "core/driver.h"
#include "core/hooks.h"
#include "transport/session_state.h"

typedef void attach_hook(void);

/** Adds a function that runs before the session begins: it reads the environment, say. */
#define ON_ATTACH(function) HOOK(attach, attach_hook, function)

/** Begins the session unless there is one; CUDA_ERROR_NO_DEVICE or _SYSTEM_NOT_READY if that fails. */
CUresult session_attach(void);
