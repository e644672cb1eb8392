// SPDX-License-Identifier: Apache-2.0
// Loans: frames of a stream that can be resumed refer to memory of the program, without a copy, until the call that
// sends them returns. What is not acknowledged by then is copied, and the rest waited for.
#pragma once

#include "transport/retained.h"

enum loan_end {
  LOAN_RETURNED,  // the program may change the memory now
  LOAN_KEPT,      // page-locked memory that stays as it is until its copy is done
};

/** Has frames that this thread sends on a connection refer to the program's memory until loan_end. */
void loan_begin(struct loan *loan, struct connection *connection);

void loan_end(struct loan *loan, enum loan_end end);

/** The loan that this thread has begun on a connection; NULL: none. */
struct loan *loan_current(const struct connection *connection);

/** Copies what a loan's frames refer to, so that the memory is the program's again. */
void loan_return(struct loan *loan);

/** Sees that no frame refers to memory that goes away. */
void loans_return(const void *begin, uint64_t bytes);
