// SPDX-License-Identifier: Apache-2.0
// Streams that wait for words in memory and write them.
#include "driver.h"

#include <unistd.h>

/* CUstreamBatchMemOpParams: i32 kind, u64 address, u64 value, u32 flags */
struct memory_operation {
  int kind;
  Address address;
  uint64_t value;
  unsigned flags;
  uint64_t rest[2];
};

enum { WAIT_32 = 1, WRITE_32 = 2 };

static void operate(struct op *op) {
  volatile uint32_t *word = (uint32_t *)op->a;
  if (op->c == WRITE_32) *word = (uint32_t)op->b;
  while (op->c == WAIT_32 && (int32_t)(*word - (uint32_t)op->b) < 0) usleep(100);
}

Result cuStreamBatchMemOp_v2(struct stream *stream, unsigned count, struct memory_operation *operations, unsigned flags) {
  count_call();
  Result result = usable();
  for (unsigned i = 0; i < count && !result; i++) {
    Address address = operations[i].address;
    if (flags || operations[i].flags) return INVALID_VALUE;
    if (!is_allocated(address, 4) && !is_pinned(address, 4)) return INVALID_VALUE;
    if (operations[i].kind != WAIT_32 && operations[i].kind != WRITE_32) return INVALID_VALUE;
    struct op *op = new_op(operate);
    op->a = operations[i].address;
    op->b = operations[i].value;
    op->c = (uint64_t)operations[i].kind;
    result = submit(stream, op);
  }
  return result;
}
