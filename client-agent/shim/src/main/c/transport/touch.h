// SPDX-License-Identifier: Apache-2.0
// Pages of a host copy's destination that the program has not touched yet. The kernel makes many of them at once, huge
// ones where it can, much faster than one by one under each receive.
#pragma once

#include "transport/connection.h"

/** Touches the destination of a copy up to this offset, and some way beyond; its content stays as it is. */
void touch_ahead(struct call *copy, uint64_t until);
