// SPDX-License-Identifier: Apache-2.0
// The lock of all graphs.
#pragma once

#include "core/lock.h"

/** Guards all graphs and captures. Not held while anything is sent that is answered. */
extern struct lock graphLock;
