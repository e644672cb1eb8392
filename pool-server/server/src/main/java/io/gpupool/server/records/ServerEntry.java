// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.gpu.Gpu;
import java.util.List;

/**
 * The record of a server, which is there while the server is alive.
 *
 * @param address {@code HOST:PORT} of its control plane
 * @param backend nvidia or soft
 * @param sinceMillis when it came, since 1970
 * @param callStreamPort at the host of {@code address}
 * @param tls whether its ports speak TLS
 * @param mps whether its GPUs are shared through MPS, so that what a program has of one stays as it
 *     was when the program started
 */
public record ServerEntry(
    String name,
    String address,
    String version,
    String backend,
    List<Gpu> gpus,
    long sinceMillis,
    int callStreamPort,
    boolean tls,
    boolean mps) {
  public ServerEntry {
    gpus = List.copyOf(gpus);
  }
}
