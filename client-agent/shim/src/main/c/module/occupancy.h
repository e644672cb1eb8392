// SPDX-License-Identifier: Apache-2.0
// Questions of how much of a kernel runs at once.
#pragma once

#include "core/driver.h"

/** Answers how many blocks of a kernel run at once on a multiprocessor; remembers the latest answers. */
CUresult occupancy_blocks(int *value, CUfunction func, int blockSize, size_t sharedBytes, unsigned int flags);

/** Asks for the greatest size of clusters, or how many run at once. */
CUresult occupancy_clusters(int *value, CUfunction func, const CUlaunchConfig *config, bool active);
