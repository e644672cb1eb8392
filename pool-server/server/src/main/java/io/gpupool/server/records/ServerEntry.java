// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.gpu.Gpu;
import java.util.List;

/**
 * The record of a server, which exists while the server is alive.
 *
 * @param backend nvidia or soft
 * @param sinceMillis when it came, since 1970
 * @param mps whether its GPUs are shared through MPS, so that a program keeps the share that it had
 *     when it started
 * @param movable whether sessions may move to it, and away
 */
public record ServerEntry(
    String name,
    ServerEndpoint endpoint,
    String version,
    String backend,
    List<Gpu> gpus,
    long sinceMillis,
    boolean mps,
    boolean movable) {
  public ServerEntry {
    gpus = List.copyOf(gpus);
  }
}
