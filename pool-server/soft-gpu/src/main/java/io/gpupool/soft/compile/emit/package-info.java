// SPDX-License-Identifier: Apache-2.0
/** Bytecode of values, addresses and memory accesses. */
@NullMarked
package io.gpupool.soft.compile.emit;

import org.jspecify.annotations.NullMarked;
