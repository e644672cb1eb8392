// SPDX-License-Identifier: Apache-2.0
// The calls of NCCL that make, ask and end communicators.
#pragma once

#include "collective/communicator.h"

int communicator_join(struct communicator **made, int ranks, const void *id, int rank, enum nccl_blocking blocking);
int communicator_join_all(struct communicator **made, int count, const int *devices, const void *id);
int communicator_split(struct communicator *handle, int color, int key, struct communicator **made,
                       enum nccl_blocking blocking);

/** Waits until all calls are complete; of a communicator that does not block, the program asks for it. */
int communicator_finish(struct communicator *handle);

int communicator_destroy(struct communicator *handle);
int communicator_abort(struct communicator *handle);
int communicator_error(struct communicator *handle, int *error);
int communicator_describe(struct communicator *handle, int *ranks, int *rank, int *device);
const char *communicator_text(struct communicator *handle);
