// SPDX-License-Identifier: Apache-2.0
// The stream that a thread waited for last: as long as nothing has been sent since, it need not wait again. Programs copy
// to pageable memory, which waits, and then synchronize the stream.
#pragma once

#include "context/context.h"

enum { SYNCHRONIZE_FRAME_BYTES = 24, COPY_FRAME_BYTES = 40 };

/** Position of the frames of a context's connection; taken before a frame is sent that waits for a stream. */
uint64_t waited_position(const struct context *context);

/**
 * Takes note that the wait has ended well.
 *
 * @param begun the position before
 * @param frameBytes length of the one frame that was sent for it
 */
void waited_end(const struct context *context, uint32_t stream, uint64_t begun, uint32_t frameBytes);

/** Returns whether this thread has waited for the stream, and no thread has sent anything since. */
bool waited_already(const struct context *context, uint32_t stream);
