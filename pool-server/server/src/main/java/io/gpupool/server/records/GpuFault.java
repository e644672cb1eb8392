// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

/**
 * That a GPU is not to be relied on, so that nothing of it is granted. Goes with its server.
 *
 * @param problem what is wrong, for people
 * @param sinceMillis since 1970
 */
public record GpuFault(String problem, long sinceMillis) {}
