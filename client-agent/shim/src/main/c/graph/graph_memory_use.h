// SPDX-License-Identifier: Apache-2.0
// The use of the memory of a graph's nodes by executable graphs and their launches. The graph lock is held.
#pragma once

#include "graph/graph.h"

/** An executable graph is made or gone; false if its memory has another already. */
bool graph_memory_claim(const struct graph *graph);

void graph_memory_unclaim(const struct graph *graph);

/** Notes what a launch allocates and frees; CUDA_ERROR_INVALID_VALUE if it must not. */
CUresult graph_memory_launch(const struct graph *graph, bool autoFree);
