// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.wire.TextMessage;
import org.jspecify.annotations.Nullable;

/**
 * An answer of the server.
 *
 * @param descriptor that came with it, if one did; becomes the asker's
 */
record Answer(TextMessage message, @Nullable Integer descriptor) {}
