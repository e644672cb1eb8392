// SPDX-License-Identifier: Apache-2.0
/** NVIDIA's driver on this machine: where it is, and how programs share its GPUs. */
@NullMarked
package io.gpupool.server.driver;

import org.jspecify.annotations.NullMarked;
