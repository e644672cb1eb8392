// SPDX-License-Identifier: Apache-2.0
#include "transport/credit.h"

#include "transport/session_state.h"

#include <stdlib.h>

HOOK_TABLE(credit, credit_hook);

bool credit_make_room(struct call *call, CUresult *result) {
  free(call->payload);
  call->payload = NULL;
  if (!session_alive()) {
    *result = session_answer();
    return false;
  }
  FOR_EACH_HOOK(credit, credit_hook, hook) (*hook)((uint32_t)(call->connection - connections));
  return true;
}
