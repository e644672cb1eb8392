// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.contract.Contract;
import io.gpupool.contract.Op;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** How many slots each op has, from the description that the ops were generated from. */
final class OpSlots {
  private OpSlots() {}

  /** By op number; -1 for ops with input buffers or a layout of their own. */
  static int[] read() {
    try {
      Contract contract = Contract.read(Path.of("../../protocol/contract/src/main/contract"));
      int[] slots = new int[contract.ops().size() + 1];
      slots[0] = -1;
      for (Op op : contract.ops()) {
        boolean plain =
            !op.raw() && op.fields().stream().noneMatch(field -> field.type().isInputBuffer());
        slots[op.number()] = plain ? op.fields().size() : -1;
      }
      return slots;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
