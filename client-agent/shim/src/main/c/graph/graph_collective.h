// SPDX-License-Identifier: Apache-2.0
// Collectives of NCCL in graphs: nodes for which the shim sends the calls with each launch, in the launch's stream.
#pragma once

#include "graph/graph_work.h"

/**
 * CUDA_ERROR_NOT_SUPPORTED if a graph has collectives of several contexts: a launch puts all of them into one stream,
 * where those of one rank would wait for those of another that come later.
 */
CUresult collective_check(const struct graph *graph);

/** Sends the calls of a node. */
CUresult collective_post(const struct collective_work *work, struct context *context, uint32_t stream);
