// SPDX-License-Identifier: Apache-2.0
// Attributes of functions, kept once they are known.
#pragma once

#include "module/module.h"

CUresult function_attribute(struct function *function, CUfunction_attribute attribute, int32_t *value);

CUresult function_set_attribute(struct function *function, CUfunction_attribute attribute, int32_t value);
