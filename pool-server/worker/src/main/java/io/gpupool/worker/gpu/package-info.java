// SPDX-License-Identifier: Apache-2.0
/** The worker's GPUs: their identity, and probes and trials of them. */
@NullMarked
package io.gpupool.worker.gpu;

import org.jspecify.annotations.NullMarked;
