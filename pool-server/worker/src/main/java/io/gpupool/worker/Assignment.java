// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.session.LeasedGpu;
import io.gpupool.worker.session.Ledger;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What the pool-server has assigned to this worker.
 *
 * @param session the session's id
 * @param gpus the GPUs of its lease
 * @param ledgerFile of its lease
 * @param slot the session's place in the ledger
 */
record Assignment(String session, List<LeasedGpu> gpus, Path ledgerFile, int slot) {
  private static final int MAX_GPUS = 256;

  static Assignment of(TextMessage message) throws WireException {
    List<LeasedGpu> gpus = new ArrayList<>();
    for (String gpu : message.require("gpus").split(",", MAX_GPUS + 1)) {
      String[] parts = gpu.split(":");
      try {
        gpus.add(
            new LeasedGpu(
                Integer.parseInt(parts[0]), Long.parseLong(parts[1]), Integer.parseInt(parts[2])));
      } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
        throw new WireException("not a GPU (ordinal:memoryBytes:computePercent): " + gpu);
      }
    }
    return new Assignment(
        message.require("session"),
        List.copyOf(gpus),
        Path.of(message.require("ledger")),
        (int) message.requireNumber("slot", Ledger.SLOTS - 1));
  }

  Ledger openLedger() throws IOException {
    return Ledger.open(ledgerFile, slot, gpus.stream().mapToLong(LeasedGpu::quotaBytes).toArray());
  }
}
