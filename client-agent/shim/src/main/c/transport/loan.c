// SPDX-License-Identifier: Apache-2.0
#include "transport/loan.h"

#include "transport/room.h"
#include "transport/session_state.h"

enum { COPIED_BYTES = 4 << 20 };  // more than this is waited for

static __thread struct loan *current __attribute__((tls_model("initial-exec")));

void loan_begin(struct loan *loan, struct connection *connection) {
  *loan = (struct loan){.connection = connection};
  if (connection_resumable(connection)) current = loan;
}

struct loan *loan_current(const struct connection *connection) {
  return current && current->connection == connection ? current : NULL;
}

/** The bytes of a loan, or without one of this memory, that frames refer to. */
static uint64_t lent(struct connection *connection, struct loan *loan, const void *begin, uint64_t bytes) {
  return loan ? __atomic_load_n(&loan->bytes, __ATOMIC_RELAXED) : retained_overlap(connection, begin, bytes);
}

static void take_back(struct connection *connection, struct loan *loan, const void *begin, uint64_t bytes) {
  for (;;) {
    // Before the look at what is lent, so that no acknowledgement in between is missed.
    uint64_t acknowledged = retained_begin(connection), left = lent(connection, loan, begin, bytes);
    if (!left || !session_alive()) return;
    if (left > COPIED_BYTES || !retained_copy(connection, loan, begin, bytes)) room_wait(connection, acknowledged);
  }
}

void loan_return(struct loan *loan) {
  take_back(loan->connection, loan, NULL, 0);
  // A session that is lost writes no more, but its queue still names the loan.
  retained_keep(loan->connection, loan);
}

void loan_end(struct loan *loan, enum loan_end end) {
  if (current != loan) return;
  current = NULL;
  if (end == LOAN_KEPT) {
    retained_keep(loan->connection, loan);
  } else {
    loan_return(loan);
  }
}

void loans_return(const void *begin, uint64_t bytes) {
  for (uint32_t i = 0; i < connectionCount; i++) {
    if (connection_resumable(&connections[i])) take_back(&connections[i], NULL, begin, bytes);
  }
}
