// SPDX-License-Identifier: Apache-2.0
/** The leases of programs as NVML shows them. */
package io.gpupool.agent.nvml;
