// SPDX-License-Identifier: Apache-2.0
/** Tensor-core arithmetic of a warp. */
@NullMarked
package io.gpupool.soft.exec.matrix;

import org.jspecify.annotations.NullMarked;
