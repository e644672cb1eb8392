// SPDX-License-Identifier: Apache-2.0
// What a thread knows of the stream that it waited for last: nothing was sent since, so it need not ask again. Programs
// copy to pageable memory, which waits, and then synchronize the stream.
#pragma once

#include "context/context.h"

enum { SYNCHRONIZE_FRAME_BYTES = 24, COPY_FRAME_BYTES = 40 };

/** Taken before a frame is sent that waits for a stream. */
uint64_t waited_begin(const struct context *context);

/**
 * Takes note that the wait has ended well.
 *
 * @param begun what waited_begin returned
 * @param frameBytes length of the one frame that was sent for it
 */
void waited_end(const struct context *context, uint32_t stream, uint64_t begun, uint32_t frameBytes);

/** Returns whether this thread has waited for the stream, and no thread has sent anything since. */
bool waited_already(const struct context *context, uint32_t stream);
