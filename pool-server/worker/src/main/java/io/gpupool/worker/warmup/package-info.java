// SPDX-License-Identifier: Apache-2.0
/** The warm-up of a spare worker. */
@NullMarked
package io.gpupool.worker.warmup;

import org.jspecify.annotations.NullMarked;
