// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import io.gpupool.cuda.BackendTraits.PrintSink;
import io.gpupool.wire.ByteSize;
import io.gpupool.worker.session.core.Answers;
import java.nio.charset.StandardCharsets;

/**
 * The line that tells a program, once, that its lease has no memory left because the driver takes
 * some of it. Programs that fill their quota by themselves hear of it by the error alone.
 */
final class OutOfMemoryReport {
  private final Answers answers;
  private final Ledger ledger;
  private boolean told;

  OutOfMemoryReport(Answers answers, Ledger ledger) {
    this.answers = answers;
    this.ledger = ledger;
  }

  /** A context does not fit into the lease. */
  void context(int gpu, long contextBytes) {
    if (contextBytes > 0) {
      tell(
          "a context on GPU %d takes %s of its memory, and the lease has %s of %s left: ask for more (-m or -p)"
              .formatted(
                  gpu,
                  new ByteSize(contextBytes),
                  new ByteSize(ledger.freeBytes(gpu)),
                  new ByteSize(ledger.quotaBytes(gpu))));
    }
  }

  /** The local memory of a kernel does not fit into the lease. */
  void localMemory(int gpu, long lengthBytes) {
    tell(
        "a kernel needs %s of GPU %d for the local memory of all threads, and the lease has %s left: ask for more (-m or -p)"
            .formatted(new ByteSize(lengthBytes), gpu, new ByteSize(ledger.freeBytes(gpu))));
  }

  /** An allocation does not fit into the lease; it would if the driver did not take some of it. */
  void allocation(int gpu, long lengthBytes, long overheadBytes) {
    if (lengthBytes - ledger.freeBytes(gpu) <= overheadBytes && overheadBytes > 0) {
      tell(
          "out of memory: of the lease's %s of GPU %d the driver takes %s for this program, for contexts, code"
                  .formatted(new ByteSize(ledger.quotaBytes(gpu)), gpu, new ByteSize(overheadBytes))
              + " and heaps; %s are left".formatted(new ByteSize(ledger.freeBytes(gpu))));
    }
  }

  private void tell(String line) {
    if (!told) {
      told = true;
      answers.output(
          PrintSink.DIAGNOSTICS, ("gpupool: " + line + "\n").getBytes(StandardCharsets.UTF_8));
    }
  }
}
