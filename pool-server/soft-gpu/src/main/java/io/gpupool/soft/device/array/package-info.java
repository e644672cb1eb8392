// SPDX-License-Identifier: Apache-2.0
/** CUDA arrays, and the textures and surfaces that read and write them. */
@NullMarked
package io.gpupool.soft.device.array;

import org.jspecify.annotations.NullMarked;
