// SPDX-License-Identifier: Apache-2.0
// Questions of how much of a kernel runs at once.
#pragma once

#include "core/driver.h"

/** Asks for the greatest size of clusters, or how many run at once. */
CUresult occupancy_clusters(int *value, CUfunction func, const CUlaunchConfig *config, bool active);
