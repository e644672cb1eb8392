// SPDX-License-Identifier: Apache-2.0

/** Call streams of programs on this machine: rings of bytes in memory that both processes map. */
@NullMarked
package io.gpupool.worker.rings;

import org.jspecify.annotations.NullMarked;
