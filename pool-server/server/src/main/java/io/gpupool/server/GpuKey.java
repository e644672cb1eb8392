// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

/**
 * Names a GPU for as long as the pool remembers it.
 *
 * @param card its UUID, or its ordinal where the driver tells no UUID
 */
record GpuKey(String server, String card) {
  static GpuKey of(Gpu gpu) {
    return new GpuKey(gpu.server(), gpu.uuid().isEmpty() ? "ordinal-" + gpu.ordinal() : gpu.uuid());
  }

  String text() {
    return server + "/" + card;
  }
}
