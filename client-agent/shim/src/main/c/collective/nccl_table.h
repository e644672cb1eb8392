// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL's calls, as libnccl.so.2 finds them.
#pragma once

#include "collective/nccl_interface.h"

extern const struct nccl_table ncclTable;
