// SPDX-License-Identifier: Apache-2.0
/** The leases of programs as NVML shows them. */
@NullMarked
package io.gpupool.agent.nvml;

import org.jspecify.annotations.NullMarked;
