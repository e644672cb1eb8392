// SPDX-License-Identifier: Apache-2.0
/** Connections between the workers of one session on several servers. */
@NullMarked
package io.gpupool.worker.peer;

import org.jspecify.annotations.NullMarked;
