// SPDX-License-Identifier: Apache-2.0
/** NVIDIA's driver on this machine: where it is, and how programs share its GPUs. */
package io.gpupool.server.driver;
