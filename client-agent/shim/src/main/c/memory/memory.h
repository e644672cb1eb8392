// SPDX-License-Identifier: Apache-2.0
// Allocation of device memory.
#pragma once

#include "core/driver.h"
#include "core/hooks.h"
#include "core/ranges.h"

/** Frees memory at an address; false if none begins there that the program has. */
typedef bool free_hook(CUdeviceptr address);

/** Adds the function that frees what nodes of graphs allocate. */
#define FREES_GRAPH_MEMORY(function) HOOK(free_graph_memory, free_hook, function)
