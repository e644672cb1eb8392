// SPDX-License-Identifier: Apache-2.0
// Functions of the program that the worker calls back when a stream has come to them. They run on a
// thread of their own, one after the other.
#pragma once

#include "context/context.h"

/** Returns whether any callback has been asked for and has not run to its end. */
bool host_funcs_pending(void);

/** Puts a call of a function into a stream. */
CUresult host_func_launch(struct context *context, uint32_t stream, CUhostFn function,
                         void *userData);
