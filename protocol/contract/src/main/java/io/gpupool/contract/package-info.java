// SPDX-License-Identifier: Apache-2.0
/**
 * The CUDA driver API described once: its model, its parser, and what the build generates from it.
 */
package io.gpupool.contract;
