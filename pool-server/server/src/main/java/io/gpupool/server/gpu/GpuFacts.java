// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.gpu;

/**
 * What a backend says of a GPU for those who look at it with NVIDIA's tools; leases are not granted
 * by it. Zero or empty: it does not say.
 *
 * @param driver version of the NVIDIA driver, {@code 580.65.06}
 * @param pciBusId on its server, {@code 0000:01:00.0}
 * @param clockKilohertz the highest, of the processors
 * @param memoryClockKilohertz the highest
 * @param contextBytes memory that a program's context takes by itself
 */
public record GpuFacts(
    String driver,
    String pciBusId,
    int multiprocessors,
    int clockKilohertz,
    int memoryClockKilohertz,
    int memoryBusBits,
    long contextBytes) {
  public static final GpuFacts NONE = new GpuFacts("", "", 0, 0, 0, 0, 0);
}
