// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.gpu;

/**
 * The facts about a GPU that a backend reports for users of NVIDIA's tools. Leases are not granted
 * by them. Zero or empty: not reported.
 *
 * @param driver version of the NVIDIA driver, {@code 580.65.06}
 * @param pciBusId on its server, {@code 0000:01:00.0}
 * @param clockKilohertz the maximum, of the processors
 * @param memoryClockKilohertz the maximum
 * @param contextBytes memory that a program's context takes by itself
 * @param ncclVersion of the NCCL that carries collectives out between such GPUs, 22703 for 2.27.3
 */
public record GpuFacts(
    String driver,
    String pciBusId,
    int multiprocessors,
    int clockKilohertz,
    int memoryClockKilohertz,
    int memoryBusBits,
    long contextBytes,
    int ncclVersion) {
  public static final GpuFacts NONE = new GpuFacts("", "", 0, 0, 0, 0, 0, 0);
}
