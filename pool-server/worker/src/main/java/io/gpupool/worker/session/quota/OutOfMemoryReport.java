// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import io.gpupool.cuda.BackendTraits.PrintSink;
import io.gpupool.wire.ByteSize;
import io.gpupool.worker.session.core.Answers;
import java.nio.charset.StandardCharsets;

/**
 * A line on the program's standard error, once, that its lease has no memory left because the
 * driver takes some of it. Programs that fill their quota by themselves get the error alone.
 */
final class OutOfMemoryReport {
  private final Answers answers;
  private final Ledger ledger;
  private boolean reported;

  OutOfMemoryReport(Answers answers, Ledger ledger) {
    this.answers = answers;
    this.ledger = ledger;
  }

  /** Reports a context that does not fit into the lease. */
  void context(int gpu, long contextBytes) {
    if (contextBytes > 0) {
      report(
          "a context on GPU %d takes %s of its memory, and the lease has %s of %s left: the program needs a lease with more memory"
              .formatted(
                  gpu,
                  new ByteSize(contextBytes),
                  new ByteSize(ledger.freeBytes(gpu)),
                  new ByteSize(ledger.quotaBytes(gpu))));
    }
  }

  /** Reports local memory of a kernel that does not fit into the lease. */
  void localMemory(int gpu, long lengthBytes) {
    report(
        "a kernel needs %s of GPU %d for the local memory of all threads, and the lease has %s left: the program needs a lease with more memory"
            .formatted(new ByteSize(lengthBytes), gpu, new ByteSize(ledger.freeBytes(gpu))));
  }

  /** Reports an allocation that would fit if the driver took none of the lease's memory. */
  void allocation(int gpu, long lengthBytes, long overheadBytes) {
    if (lengthBytes - ledger.freeBytes(gpu) <= overheadBytes && overheadBytes > 0) {
      report(
          "out of memory: of the lease's %s of GPU %d the driver takes %s for this program, for contexts, code"
                  .formatted(new ByteSize(ledger.quotaBytes(gpu)), gpu, new ByteSize(overheadBytes))
              + " and heaps; %s are left".formatted(new ByteSize(ledger.freeBytes(gpu))));
    }
  }

  private void report(String line) {
    if (!reported) {
      reported = true;
      answers.output(
          PrintSink.DIAGNOSTICS, ("gpupool: " + line + "\n").getBytes(StandardCharsets.UTF_8));
    }
  }
}
