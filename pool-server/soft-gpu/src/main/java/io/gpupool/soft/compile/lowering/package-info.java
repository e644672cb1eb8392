// SPDX-License-Identifier: Apache-2.0
/** Translation of checked PTX into the control-flow graph, calls included. */
@NullMarked
package io.gpupool.soft.compile.lowering;

import org.jspecify.annotations.NullMarked;
