// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.server.identity.HolderName;
import io.gpupool.wire.TextMessage;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A worker of the server's former process that has accepted the claim of this one. Its session is
 * still to be given to it. Owned by the control thread.
 *
 * @param hello the state of its session, as it says
 * @param files its files
 * @param repeated what it shares, as it said to the former process, in order
 * @param serving takes its session, which hears its messages from then on
 */
public record ClaimedWorker(
    Worker worker,
    TextMessage hello,
    Files files,
    List<TextMessage> repeated,
    Consumer<WorkerSession> serving) {
  public ClaimedWorker {
    repeated = List.copyOf(repeated);
  }

  /**
   * The descriptors of the files that it shares with the server, as it says; whoever takes them
   * must close them.
   *
   * @param ledger its lease's ledger
   * @param schedule the GPUs' schedules
   */
  public record Files(int ledger, int schedule) {}

  /**
   * How long its program's connection has been gone, in milliseconds; empty: it is there, as far as
   * the worker knows.
   */
  public Optional<Long> goneMillis() {
    return hello.get("state").equals(Optional.of("disconnected"))
        ? Optional.of(number(hello.get("gone").orElse("0")))
        : Optional.empty();
  }

  /** Why the connection is gone. */
  public String reason() {
    return HolderName.plain(hello.get("reason").orElse("unknown"));
  }

  private static long number(String text) {
    try {
      return Math.max(0, Long.parseLong(text));
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
