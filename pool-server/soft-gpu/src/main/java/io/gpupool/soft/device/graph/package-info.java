// SPDX-License-Identifier: Apache-2.0
/** CUDA graphs: operations, their order, and launches of them. */
@NullMarked
package io.gpupool.soft.device.graph;

import org.jspecify.annotations.NullMarked;
