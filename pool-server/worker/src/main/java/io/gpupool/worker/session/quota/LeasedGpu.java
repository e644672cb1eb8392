// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

/**
 * One GPU of a lease, as its sessions see it.
 *
 * @param ordinal the backend's number of the GPU
 * @param quotaBytes the memory that the lease may allocate on it
 * @param computePercent the lease's share of its time
 */
public record LeasedGpu(int ordinal, long quotaBytes, int computePercent) {}
