// SPDX-License-Identifier: Apache-2.0
// The latest answers of how many blocks of a kernel run at once: libraries ask the same before each launch.
#pragma once

#include "module/module.h"

/**
 * Looks for the answer to a question, and puts it there; returns whether it is known.
 *
 * @param changes set to how often has changed what answers depend on
 */
bool known_occupancy(struct function *function, struct occupancy *question, uint32_t *changes);

/** Keeps an answer, unless there have been changes since the question. */
void known_occupancy_add(struct function *function, const struct occupancy *answer, uint32_t changes);

/** Forgets the answers: what they depend on changes. */
void known_occupancy_forget(struct function *function);

/** Returns how often has changed what answers about a function depend on. */
uint32_t known_occupancy_changes(struct function *function);
