// SPDX-License-Identifier: Apache-2.0
#include "collective/reduce_operator.h"

#include "collective/nccl_error.h"
#include "context/memory_ranges.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(NCCL_OPERATORS == (int)REDUCE_PRE_MULTIPLIED_SUM, "operators that always exist");

uint32_t nccl_type_bytes(int type) {
  static const uint8_t bytes[NCCL_TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < NCCL_TYPES ? bytes[type] : 0;
}

/** A free place among the operators of a communicator, which is locked; NULL: no memory. */
static struct reduce_operator *free_place(struct communicator *communicator) {
  uint32_t count = communicator->operatorCount;
  for (uint32_t i = 0; i < count; i++) {
    if (!communicator->operators[i].live) return &communicator->operators[i];
  }
  uint32_t more = count ? 2 * count : 4;
  struct reduce_operator *grown = realloc(communicator->operators, more * sizeof *grown);
  if (!grown) return NULL;
  memset(grown + count, 0, (more - count) * sizeof *grown);
  communicator->operators = grown;
  communicator->operatorCount = more;
  return &grown[count];
}

int operator_make(int *made, const void *scalar, int type, int immediate, struct communicator *handle) {
  static const char name[] = "ncclRedOpCreatePreMulSum";
  struct communicator *communicator;
  uint32_t bytes = nccl_type_bytes(type);
  bool unknown = false;
  int result = communicator_ready(handle, &communicator);
  if (result) return result;
  if (!made || !scalar) return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: an argument is NULL", name);
  if (!bytes) return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: %d is no data type", name, type);
  struct reduce_operator operator = {.live = true, .inMemory = !immediate, .type = (uint32_t)type};
  if (immediate) {
    memcpy(&operator.scalar, scalar, bytes);
  } else {
    operator.scalar = (uintptr_t)scalar;
    if (memory_check(operator.scalar, bytes, &unknown) || unknown) {
      return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: the scalar at %p is not device memory", name, scalar);
    }
  }
  lock_take(&communicator->lock);
  struct reduce_operator *place = free_place(communicator);
  if (place) {
    *place = operator;
    *made = NCCL_OPERATORS + (int)(place - communicator->operators);
  }
  lock_release(&communicator->lock);
  return place ? NCCL_SUCCESS : nccl_fail(NCCL_SYSTEM_ERROR, "%s: no memory", name);
}

/** The place of an operator that a program made, which is locked; NULL: there is none. */
static struct reduce_operator *find(struct communicator *communicator, int operator) {
  uint32_t index = (uint32_t)operator - NCCL_OPERATORS;
  bool live = operator >= NCCL_OPERATORS && index < communicator->operatorCount && communicator->operators[index].live;
  return live ? &communicator->operators[index] : NULL;
}

int operator_end(int operator, struct communicator *handle) {
  struct communicator *communicator;
  int result = communicator_find(handle, &communicator);
  if (result) return result;
  lock_take(&communicator->lock);
  struct reduce_operator *found = find(communicator, operator);
  if (found) found->live = false;
  lock_release(&communicator->lock);
  if (found) return NCCL_SUCCESS;
  return operator >= 0 && operator < NCCL_OPERATORS
             ? nccl_fail(NCCL_INVALID_ARGUMENT, "ncclRedOpDestroy: operator %d always exists", operator)
             : nccl_fail(NCCL_INVALID_ARGUMENT, "ncclRedOpDestroy: the communicator has no operator %d", operator);
}

int operator_apply(struct communicator *communicator, int operator, int type, struct collective_call *call) {
  if (operator >= 0 && operator < NCCL_OPERATORS) {
    call->operation = (uint32_t)operator;
    return NCCL_SUCCESS;
  }
  struct reduce_operator copy = {0};
  lock_take(&communicator->lock);
  const struct reduce_operator *found = find(communicator, operator);
  if (found) copy = *found;
  lock_release(&communicator->lock);
  if (!copy.live) return nccl_fail(NCCL_INVALID_ARGUMENT, "the communicator has no operator %d", operator);
  if (copy.type != (uint32_t)type) {
    return nccl_fail(NCCL_INVALID_ARGUMENT, "operator %d was made for data type %u, not %d", operator, copy.type, type);
  }
  call->operation = REDUCE_PRE_MULTIPLIED_SUM;
  call->scalar = copy.scalar;
  call->scalarInMemory = copy.inMemory;
  return NCCL_SUCCESS;
}
