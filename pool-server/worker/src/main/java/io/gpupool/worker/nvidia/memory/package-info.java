// SPDX-License-Identifier: Apache-2.0
/** The memory of NVIDIA's GPUs at addresses that can be had again in another process. */
@NullMarked
package io.gpupool.worker.nvidia.memory;

import org.jspecify.annotations.NullMarked;
