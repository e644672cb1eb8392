// SPDX-License-Identifier: Apache-2.0
// CUDA_VISIBLE_DEVICES: which devices a program sees, and in which order. A list of ordinals or of
// beginnings of UUIDs; what comes after the first word that names none is not looked at.
#pragma once

#include "context/device.h"

/** Moves the visible ones to the front; answers how many they are. */
uint32_t visible_select(struct device *devices, uint32_t count);

/** Whether no device at all can be visible. */
bool visible_none(void);
