// SPDX-License-Identifier: Apache-2.0
/** The warm-up of a spare worker. */
package io.gpupool.worker.warmup;
