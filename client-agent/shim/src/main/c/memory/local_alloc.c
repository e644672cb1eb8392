// SPDX-License-Identifier: Apache-2.0
#include "memory/local_alloc.h"

#include "core/fork.h"
#include "core/lock.h"
#include "memory/va_reservation.h"
#include "ops.h"
#include "transport/device_table.h"

#include <string.h>

enum {
  MOST_BYTES = 1 << 20,          // of an allocation
  FIRST_CREDIT_BYTES = 256 << 10,  // each is twice the one before
  MOST_CREDIT_BYTES = 16 << 20,
  PAUSE = 64,  // allocations before credit is asked for again when there was none
};

/** The credit on a device. Allocations are sent with the lock held: the server wants them in the order of addresses. */
struct credit {
  struct lock lock;
  bool useless;  // the program has memory of its own there
  uint32_t pause;
  uint64_t next, end;
  uint64_t wanted;  // of the next credit
};

static struct credit credits[MAX_DEVICES];

static void credits_reset(void) { memset(credits, 0, sizeof credits); }

ON_FORK(credits_reset);

static void give_back(struct credit *credit, CUdevice device) {
  if (credit->next == credit->end) return;
  op_memCreditEnd(connection_no_context(device_connection(device)), device_ordinal(device));
  credit->next = credit->end = 0;
}

/** The lease is full: what is left of it goes to whoever needs it. */
static void give_all_back(uint32_t connection) {
  for (CUdevice device = 0; (uint32_t)device < devices_count(); device++) {
    if (device_connection(device) != connection) continue;
    struct credit *credit = &credits[device];
    lock_take(&credit->lock);
    give_back(credit, device);
    credit->pause = PAUSE;
    credit->wanted = 0;
    lock_release(&credit->lock);
  }
}

GIVES_CREDIT_BACK(give_all_back);

/** Asks for credit for an allocation, and more. */
static CUresult renew(struct credit *credit, struct context *context, uint64_t bytes) {
  if (credit->wanted < FIRST_CREDIT_BYTES) credit->wanted = FIRST_CREDIT_BYTES;
  uint64_t wanted = credit->wanted < bytes ? bytes : credit->wanted;
  uint64_t address = 0, granted = 0;
  CUresult result =
      op_memCredit(context->number, device_ordinal(context->device), wanted, &address, &granted);
  result = context_result(context, result);
  if (result) granted = 0;
  credit->next = address;
  credit->end = address + granted;
  if (granted < bytes) {
    credit->pause = PAUSE;
  } else if (!va_reserve(address, granted)) {
    give_back(credit, context->device);
    credit->useless = true;
  }
  credit->wanted = granted < wanted ? granted : 2 * wanted;
  if (credit->wanted > MOST_CREDIT_BYTES) credit->wanted = MOST_CREDIT_BYTES;
  return result;
}

static bool allocate(struct credit *credit, struct context *context, uint64_t bytes, uint64_t *address,
                     CUresult *result) {
  uint64_t size = (bytes + CREDIT_STEP_BYTES - 1) & -(uint64_t)CREDIT_STEP_BYTES;
  if (credit->useless) return false;
  if (size > credit->end - credit->next) {
    if (credit->pause) {
      credit->pause--;
      return false;
    }
    *result = renew(credit, context, size);
    if (*result) return true;
    if (size > credit->end - credit->next) return false;
  }
  *address = credit->next;
  credit->next += size;
  *result = op_memAllocAt(context->number, device_ordinal(context->device), *address, bytes);
  return true;
}

bool local_allocate(struct context *context, uint64_t bytes, uint64_t *address, CUresult *result) {
  *result = CUDA_SUCCESS;
  if (bytes > MOST_BYTES || !device_allocates_at(context->device)) return false;
  struct credit *credit = &credits[context->device];
  lock_take(&credit->lock);
  bool done = allocate(credit, context, bytes, address, result);
  lock_release(&credit->lock);
  return done;
}
