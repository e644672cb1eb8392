// SPDX-License-Identifier: Apache-2.0
/** Devices, contexts, streams, events, modules and functions, by the rules of the CUDA driver. */
@NullMarked
package io.gpupool.soft.device;

import org.jspecify.annotations.NullMarked;
