// SPDX-License-Identifier: Apache-2.0
// Memory and events that processes of one lease share by handles of 64 bytes.
#pragma once

#include "core/ranges.h"

/** Ends one use of memory of another process that was opened as this kind. */
CUresult ipc_close(CUdeviceptr address, enum range_kind kind);
