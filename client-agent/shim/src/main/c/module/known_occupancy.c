// SPDX-License-Identifier: Apache-2.0
#include "module/known_occupancy.h"

#include "core/fork.h"
#include "core/lock.h"

#include <string.h>

/** Guards the answers of all functions; none is taken from before a change. */
static struct lock occupancies;

static void occupancies_reset(void) { occupancies.word = 0; }
ON_FORK(occupancies_reset);

bool known_occupancy(struct function *function, struct occupancy *question, uint32_t *changes) {
  bool known = false;
  lock_take(&occupancies);
  for (int i = 0; i < KNOWN_OCCUPANCIES && !known; i++) {
    const struct occupancy *answer = &function->occupancies[i];
    known = answer->blockSize && answer->blockSize == question->blockSize &&
            answer->sharedBytes == question->sharedBytes && answer->flags == question->flags;
    if (known) question->blocks = answer->blocks;
  }
  *changes = function->changes;
  lock_release(&occupancies);
  return known;
}

void known_occupancy_forget(struct function *function) {
  lock_take(&occupancies);
  memset(function->occupancies, 0, sizeof function->occupancies);
  function->changes++;
  lock_release(&occupancies);
}

uint32_t known_occupancy_changes(struct function *function) {
  lock_take(&occupancies);
  uint32_t changes = function->changes;
  lock_release(&occupancies);
  return changes;
}

void known_occupancy_add(struct function *function, const struct occupancy *answer, uint32_t changes) {
  lock_take(&occupancies);
  if (function->changes == changes) {
    function->occupancies[function->nextOccupancy++ % KNOWN_OCCUPANCIES] = *answer;
  }
  lock_release(&occupancies);
}
