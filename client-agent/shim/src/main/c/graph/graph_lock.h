// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lock.h"

/** Guards all graphs and captures. Not held while anything is sent that is answered. */
extern struct lock graphLock;
