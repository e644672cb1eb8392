// SPDX-License-Identifier: Apache-2.0
// Names and descriptions of CUresult values.
#pragma once

#include "core/driver.h"

/** The name of a result; "unknown result" for a number CUDA does not know. */
const char *error_name(CUresult result);
