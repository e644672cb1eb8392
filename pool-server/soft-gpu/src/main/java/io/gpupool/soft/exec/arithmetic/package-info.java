// SPDX-License-Identifier: Apache-2.0
/** Arithmetic of PTX that the JVM has no instruction for; called by generated code. */
@NullMarked
package io.gpupool.soft.exec.arithmetic;

import org.jspecify.annotations.NullMarked;
