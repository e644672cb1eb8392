// SPDX-License-Identifier: Apache-2.0
// Context-local storage: values that the runtime library keeps by context and key.
#pragma once

#include "core/driver.h"

typedef void (*storage_destructor)(CUcontext context, void *key, void *value);

CUresult storage_put(CUcontext handle, void *key, void *value, storage_destructor destructor);
CUresult storage_remove(CUcontext handle, void *key);
CUresult storage_get(void **value, CUcontext handle, void *key);
