// SPDX-License-Identifier: Apache-2.0
/** The CUDA driver API described once: its model, its parser, and the generators of the build. */
@NullMarked
package io.gpupool.contract;

import org.jspecify.annotations.NullMarked;
