// SPDX-License-Identifier: Apache-2.0
/** CUDA's device runtime as the engine calls it. */
@NullMarked
package io.gpupool.soft.exec.runtime;

import org.jspecify.annotations.NullMarked;
