// SPDX-License-Identifier: Apache-2.0
/**
 * Launches that kernels make: their order, their limits, and the end of what a program launched.
 */
@NullMarked
package io.gpupool.soft.nested;

import org.jspecify.annotations.NullMarked;
