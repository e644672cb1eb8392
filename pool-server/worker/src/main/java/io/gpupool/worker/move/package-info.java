// SPDX-License-Identifier: Apache-2.0
/** The moving of a running session from one worker to another. */
@NullMarked
package io.gpupool.worker.move;

import org.jspecify.annotations.NullMarked;
