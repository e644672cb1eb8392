// SPDX-License-Identifier: Apache-2.0
/** NVIDIA's NCCL: where it is, and its functions. */
@NullMarked
package io.gpupool.nccl;

import org.jspecify.annotations.NullMarked;
