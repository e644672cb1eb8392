// SPDX-License-Identifier: Apache-2.0
/** Emitters of arithmetic, comparisons, conversions and moves. */
@NullMarked
package io.gpupool.soft.compile.arithmetic;

import org.jspecify.annotations.NullMarked;
