// SPDX-License-Identifier: Apache-2.0
#include "stream/work_hooks.h"

_Atomic uint32_t submitHooksArmed, waitingHooksArmed;
_Atomic uint64_t submitClock;

HOOK_TABLE(before_submit, submit_hook);
HOOK_TABLE(after_wait, wait_hook);
HOOK_TABLE(wait_begins, waiting_hook);
HOOK_TABLE(wait_ends, waiting_hook);

CUresult work_hooks_before_submit(struct context *context, uint32_t stream) {
  CUresult result = CUDA_SUCCESS;
  FOR_EACH_HOOK(before_submit, submit_hook, hook) {
    if (!result) result = (*hook)(context, stream);
  }
  return result;
}

CUresult work_hooks_after_wait(struct context *context, uint32_t stream, uint64_t mark) {
  CUresult result = CUDA_SUCCESS;
  FOR_EACH_HOOK(after_wait, wait_hook, hook) {
    if (!result) result = (*hook)(context, stream, mark);
  }
  return result;
}

void work_hooks_wait_begins(void) {
  FOR_EACH_HOOK(wait_begins, waiting_hook, hook) (*hook)();
}

void work_hooks_wait_ends(void) {
  FOR_EACH_HOOK(wait_ends, waiting_hook, hook) (*hook)();
}
