// SPDX-License-Identifier: Apache-2.0
// Collectives and transfers: checks of what the program asks for, and the calls that the servers are sent for it.
#pragma once

#include "collective/nccl_interface.h"

/** Adds a collective to the thread's group, or sends it if there is none. */
int collective_submit(const struct nccl_request *request);
