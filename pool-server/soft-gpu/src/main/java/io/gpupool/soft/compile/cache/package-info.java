// SPDX-License-Identifier: Apache-2.0
/** Compiled kernels of earlier runs and of other processes. */
@NullMarked
package io.gpupool.soft.compile.cache;

import org.jspecify.annotations.NullMarked;
