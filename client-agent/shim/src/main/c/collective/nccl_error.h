// SPDX-License-Identifier: Apache-2.0
// Errors as NCCL's programs see them: a number, and the thread's text of the latest one.
#pragma once

#include "collective/nccl_interface.h"

/** Keeps the text for the calling thread; returns the result. */
int nccl_fail(enum nccl_result result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The result of a driver call that `what` names. */
int nccl_of(CUresult result, const char *what);

/** The latest text of the calling thread; it begins empty. */
const char *nccl_text(void);
