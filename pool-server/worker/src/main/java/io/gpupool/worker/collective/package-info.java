// SPDX-License-Identifier: Apache-2.0
/**
 * Collectives of NCCL, carried out on memory of this process: the arithmetic of reductions, the
 * channels between ranks, and what each rank sends, receives and reduces.
 */
@NullMarked
package io.gpupool.worker.collective;

import org.jspecify.annotations.NullMarked;
