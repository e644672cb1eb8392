// SPDX-License-Identifier: Apache-2.0
// The table of calls by tag, shared by those who wait and whoever reads.
#pragma once

#include "transport/replies.h"

enum call_word { WORD_IDLE, WORD_ASLEEP, WORD_LEAD, WORD_DONE };

/** The call of this tag on a connection, or NULL. It stays as long as it is not finished. */
struct call *calls_find(struct connection *connection, uint32_t tag);

/** Ends a call; its memory is its owner's again. */
void calls_finish(struct call *call, CUresult result);

/** Ends them all on a connection. */
void calls_fail(struct connection *connection, CUresult result);

/** Wakes one of those who wait, to go on reading. */
void calls_appoint(struct connection *connection);
