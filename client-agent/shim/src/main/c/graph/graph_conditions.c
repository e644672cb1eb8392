// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_conditions.h"

#include "ops.h"

#include <stdatomic.h>
#include <stdlib.h>

uint32_t graph_number(void) {
  static _Atomic uint32_t lastNumber;
  return atomic_fetch_add_explicit(&lastNumber, 1, memory_order_relaxed) + 1;
}

void conditions_drop(struct conditions *conditions) {
  if (!conditions || --conditions->references) return;
  const struct context *context = conditions->context;
  if (slot_is_live(&context->slot, &contexts) && context->id == conditions->contextId) {
    op_graphDestroy(context->number, conditions->number);
  }
  free(conditions->list);
  free(conditions);
}
