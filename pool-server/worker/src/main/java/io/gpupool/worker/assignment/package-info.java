// SPDX-License-Identifier: Apache-2.0
/** The session that a worker is given. */
@NullMarked
package io.gpupool.worker.assignment;

import org.jspecify.annotations.NullMarked;
