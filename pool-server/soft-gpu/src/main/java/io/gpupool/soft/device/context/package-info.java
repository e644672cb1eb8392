// SPDX-License-Identifier: Apache-2.0
/** Contexts, streams and events, by the rules of the CUDA driver. */
@NullMarked
package io.gpupool.soft.device.context;

import org.jspecify.annotations.NullMarked;
