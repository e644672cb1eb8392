// SPDX-License-Identifier: Apache-2.0
/** Analyses and transformations of the control-flow graph. */
@NullMarked
package io.gpupool.soft.compile.passes;

import org.jspecify.annotations.NullMarked;
