// SPDX-License-Identifier: Apache-2.0
/** Compilation of PTX kernels to JVM bytecode. */
@NullMarked
package io.gpupool.soft.compile;

import org.jspecify.annotations.NullMarked;
