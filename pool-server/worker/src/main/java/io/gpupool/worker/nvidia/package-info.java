// SPDX-License-Identifier: Apache-2.0
/** GPUs of NVIDIA's driver. */
package io.gpupool.worker.nvidia;
