// SPDX-License-Identifier: Apache-2.0
/**
 * Devices, contexts, streams, events, modules and functions, with the documented rules of the CUDA
 * driver.
 */
package io.gpupool.soft.device;
