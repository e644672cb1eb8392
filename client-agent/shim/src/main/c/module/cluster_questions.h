// SPDX-License-Identifier: Apache-2.0
// Questions of how many clusters of a kernel run at once. cuBLAS asks for one size of clusters after the other when it
// starts: the second such question asks for many sizes in one round trip, and the answers are remembered.
#pragma once

#include "module/module.h"

/** Answers such a question if it is about no more than the size of clusters; false: it is another one. */
bool cluster_question(struct context *context, struct function *function, const CUlaunchConfig *config,
                      CUresult *result, int32_t *answer);
