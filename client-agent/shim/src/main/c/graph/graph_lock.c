// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_lock.h"

#include "core/fork.h"

struct lock graphLock;

static void graph_lock_reset(void) { graphLock.word = 0; }
ON_FORK(graph_lock_reset);
