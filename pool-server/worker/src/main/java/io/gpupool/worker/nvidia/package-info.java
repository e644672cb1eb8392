// SPDX-License-Identifier: Apache-2.0
/** GPUs of NVIDIA's driver. */
@NullMarked
package io.gpupool.worker.nvidia;

import org.jspecify.annotations.NullMarked;
