// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_conditions.h"

#include "ops.h"

#include <stdlib.h>

uint32_t graph_number(void) {
  static uint32_t lastNumber;
  return __atomic_add_fetch(&lastNumber, 1, __ATOMIC_RELAXED);
}

void conditions_drop(struct conditions *conditions) {
  if (!conditions || --conditions->references) return;
  const struct context *context = conditions->context;
  if (context->slot.live == contexts.mark && context->id == conditions->contextId) {
    op_graphDestroy(context->number, conditions->number);
  }
  free(conditions->list);
  free(conditions);
}
