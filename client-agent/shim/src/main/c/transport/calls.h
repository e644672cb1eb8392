// SPDX-License-Identifier: Apache-2.0
// The table of calls by tag, shared by the threads that wait and the one that reads.
#pragma once

#include "transport/connection.h"

enum call_word { WORD_IDLE, WORD_ASLEEP, WORD_LEAD, WORD_DONE };

/** Gives the call a tag and records it, before its frame is sent. */
void call_open(struct connection *connection, struct call *call);

/** Tells a watcher that what it waits for has come. */
void call_tell(struct call *watcher);

/** A posted copy of bytes to page-locked memory. NULL: no memory. */
struct call *copy_open(struct connection *connection, void *destination, uint64_t bytes);

/** Does the same for rows; spanBytes: from the first byte to the last. */
struct call *copy_open_rows(struct connection *connection, void *destination, uint64_t spanBytes,
                            const struct rows *rows);

/** Returns whether posted copies into (part of) this memory are under way. */
bool copies_pending(const void *begin, uint64_t bytes);

/** The call of this tag on a connection, or NULL. It stays as long as it is not finished. */
struct call *calls_find(struct connection *connection, uint32_t tag);

/** Ends a call; its memory is its owner's again. */
void calls_finish(struct call *call, CUresult result);

/** Ends all calls of a connection. */
void calls_fail(struct connection *connection, CUresult result);

/** Wakes one of the waiting threads to go on reading. */
void calls_appoint(struct connection *connection);
