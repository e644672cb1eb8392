// SPDX-License-Identifier: Apache-2.0
/** Native memory at checked addresses; called by generated code. */
@NullMarked
package io.gpupool.soft.exec.memory;

import org.jspecify.annotations.NullMarked;
