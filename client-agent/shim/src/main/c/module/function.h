// SPDX-License-Identifier: Apache-2.0
// Functions by their handles.
#pragma once

#include "module/module.h"

/** The function behind a CUfunction or, in this context, a CUkernel. *context as for stream_find. */
CUresult function_find(CUfunction handle, struct context **context, struct function **function);

/** The function of a handle in the current context, if there is one. */
CUresult function_given(CUfunction handle, struct function **function);

/** Finds the number of a function. *context as for function_find. */
CUresult function_number(CUfunction handle, struct context **context, uint32_t *number);
