// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.gpu;

/**
 * The name of a GPU for as long as the pool remembers it.
 *
 * @param card its UUID, or its ordinal if the driver reports no UUID
 */
public record GpuKey(String server, String card) {
  public static GpuKey of(Gpu gpu) {
    return new GpuKey(gpu.server(), gpu.uuid().isEmpty() ? "ordinal-" + gpu.ordinal() : gpu.uuid());
  }

  public String text() {
    return server + "/" + card;
  }
}
