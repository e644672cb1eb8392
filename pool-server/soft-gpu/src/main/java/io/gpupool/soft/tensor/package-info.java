// SPDX-License-Identifier: Apache-2.0
/** Tensor maps of the software GPU: what they say, and where the bytes of a box go. */
@NullMarked
package io.gpupool.soft.tensor;

import org.jspecify.annotations.NullMarked;
