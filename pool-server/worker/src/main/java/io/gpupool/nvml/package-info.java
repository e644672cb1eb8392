// SPDX-License-Identifier: Apache-2.0
/** NVIDIA's management library, as much of it as says how the GPUs of this machine are. */
@NullMarked
package io.gpupool.nvml;

import org.jspecify.annotations.NullMarked;
