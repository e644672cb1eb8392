// SPDX-License-Identifier: Apache-2.0
#include "collective/nccl_table.h"

#include "collective/collectives.h"
#include "collective/communicator_calls.h"
#include "collective/group.h"
#include "collective/nccl_error.h"
#include "collective/reduce_operator.h"
#include "shim.h"
#include "transport/device_table.h"

static int begin(void) {
  group_begin();
  return NCCL_SUCCESS;
}

static int allocate(void **memory, size_t bytes) {
  CUdeviceptr address = 0;
  if (!memory) return nccl_fail(NCCL_INVALID_ARGUMENT, "ncclMemAlloc: ptr is NULL");
  int result = nccl_of(shim_cuMemAlloc_v2(&address, bytes), "ncclMemAlloc");
  *memory = (void *)(uintptr_t)address;
  return result;
}

static int release(void *memory) { return nccl_of(shim_cuMemFree_v2((uintptr_t)memory), "ncclMemFree"); }

static int refuse(int result, const char *text) { return nccl_fail((enum nccl_result)result, "%s", text); }

/** Without a session the calls themselves tell what is wrong. */
static int serves(void) { return shim_cuInit(0) || devices_have_collectives(); }

const struct nccl_table ncclTable = {
    .bytes = sizeof ncclTable,
    .groupBegin = begin,
    .groupEnd = group_end,
    .join = communicator_join,
    .joinAll = communicator_join_all,
    .split = communicator_split,
    .finish = communicator_finish,
    .destroy = communicator_destroy,
    .abort = communicator_abort,
    .asyncError = communicator_error,
    .describe = communicator_describe,
    .lastError = communicator_text,
    .submit = collective_submit,
    .operatorMake = operator_make,
    .operatorEnd = operator_end,
    .allocate = allocate,
    .release = release,
    .refuse = refuse,
    .serves = serves,
};
