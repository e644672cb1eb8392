// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_plan.h"

#include <stdlib.h>

void plan_free(struct plan *plan) {
  free(plan->steps);
  free(plan->after);
  free(plan->order);
  free(plan->phases);
  *plan = (struct plan){0};
}
