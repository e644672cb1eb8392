// SPDX-License-Identifier: Apache-2.0
/** The worker's GPUs: their identity, and probes and trials of them. */
package io.gpupool.worker.gpu;
