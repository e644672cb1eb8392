// SPDX-License-Identifier: Apache-2.0
/** NVIDIA's management library: the functions that report the state of this machine's GPUs. */
@NullMarked
package io.gpupool.nvml;

import org.jspecify.annotations.NullMarked;
