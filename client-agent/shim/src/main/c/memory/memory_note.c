// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_note.h"

#include "memory/va_reservation.h"
#include "stream/settle.h"
#include "transport/session.h"

/** Returns whether an address is of memory that another server gave. */
static bool is_of_other(const struct context *context, uint64_t address) {
  const struct context *owner = memory_context(address, NULL);
  return owner && !connection_same(owner->number, context->number);
}

void memory_note(struct context *context, uint64_t base, uint64_t bytes, enum range_kind kind) {
  if (connections_several() && (is_of_other(context, base) || is_of_other(context, base + bytes - 1))) {
    session_lose(CUDA_ERROR_DEVICE_UNAVAILABLE,
                 "two servers gave the same device address, which only drivers do that were not made for "
                 "each other; ask for GPUs of one server");
    return;
  }
  if (kind != RANGE_MANAGED && !va_reserve(base, bytes)) {
    session_lose(CUDA_ERROR_OUT_OF_MEMORY,
                 "the driver has put memory of a GPU where this program has memory of its own");
    return;
  }
  struct range range = {.base = base,
                        .bytes = bytes,
                        .context = context->home,
                        .contextId = context->home->id,
                        .id = memory_next_id(),
                        .kind = kind};
  ranges_add(&deviceRanges, &range);
}
