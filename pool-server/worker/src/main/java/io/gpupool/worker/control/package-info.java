// SPDX-License-Identifier: Apache-2.0
/** The worker's connections to its pool server. */
package io.gpupool.worker.control;
