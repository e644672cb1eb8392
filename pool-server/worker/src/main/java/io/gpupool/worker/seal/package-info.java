// SPDX-License-Identifier: Apache-2.0

/** Call streams that are sealed: their records, keys and connections. */
@NullMarked
package io.gpupool.worker.seal;

import org.jspecify.annotations.NullMarked;
