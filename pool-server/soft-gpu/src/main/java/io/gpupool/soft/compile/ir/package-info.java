// SPDX-License-Identifier: Apache-2.0
/** The intermediate form of a kernel: a control-flow graph of operations on registers. */
@NullMarked
package io.gpupool.soft.compile.ir;

import org.jspecify.annotations.NullMarked;
