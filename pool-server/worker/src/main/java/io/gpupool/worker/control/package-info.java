// SPDX-License-Identifier: Apache-2.0
/** The worker's connections to its pool server. */
@NullMarked
package io.gpupool.worker.control;

import org.jspecify.annotations.NullMarked;
