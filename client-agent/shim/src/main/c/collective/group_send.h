// SPDX-License-Identifier: Apache-2.0
// Sending of a group's calls: those of each communicator go as one, in the first stream that they name.
#pragma once

#include "collective/communicator.h"

struct group_call {
  struct communicator *communicator;
  uint64_t communicatorId;
  CUstream stream;
  struct collective_call call;
};

/** Sends all calls of a group, or none if some cannot be. */
int group_send(const struct group_call *calls, uint32_t count);
