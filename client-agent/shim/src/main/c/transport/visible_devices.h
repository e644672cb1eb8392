// SPDX-License-Identifier: Apache-2.0
// CUDA_VISIBLE_DEVICES: which devices a program sees, and in which order. A list of ordinals or of
// beginnings of UUIDs; what comes after the first word that names none is not looked at.
#pragma once

#include <stdbool.h>

/** Leaves the visible devices in the table; there may be none. */
void visible_devices_select(void);

/** Returns whether no device at all can be visible. */
bool visible_devices_none(void);
