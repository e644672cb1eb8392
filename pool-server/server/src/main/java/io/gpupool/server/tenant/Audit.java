// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.records.AuditEntry;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Transaction;
import io.gpupool.server.state.Versioned;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The audit log: one line for each change and who made it, in the same commit as the change. It
 * keeps the latest 10,000 lines and a few more. Owned by the control thread.
 */
public final class Audit {
  public static final int KEPT = 10_000;

  /** Counting them costs more than a line does. */
  private static final int NOTES_A_COUNT = 64;

  private final RecordStore records;
  private final Timers timers;
  private final String server;
  private long lastMicros;
  private long notes;

  public Audit(RecordStore records, Timers timers, String server) {
    this.records = records;
    this.timers = timers;
    this.server = server;
  }

  /** Notes a change in the draft that makes it. */
  public void note(
      Transaction transaction, Principal principal, String action, String subject, String detail) {
    long nowMillis = timers.wallMillis();
    // Several a millisecond keep their order.
    lastMicros = Math.max(lastMicros + 1, nowMillis * 1000);
    transaction.put(
        RecordTypes.AUDIT,
        String.format(Locale.ROOT, "%016x-%s", lastMicros, server),
        new AuditEntry(nowMillis, principal.text(), action, subject, detail));
    if (notes++ % NOTES_A_COUNT == 0) {
      tooMany().forEach(old -> transaction.delete(RecordTypes.AUDIT, old));
    }
  }

  /** Notes what changed nothing that is written down. */
  public void note(Principal principal, String action, String subject, String detail)
      throws StateException {
    records.update(transaction -> {
      note(transaction, principal, action, subject, detail);
    });
  }

  /** What was noted, and the id under which. */
  public record Line(String id, AuditEntry entry) {}

  /** The last lines, the latest first. */
  public List<Line> latest(int limit) {
    Deque<Line> lines = new ArrayDeque<>();
    for (Map.Entry<String, Versioned<AuditEntry>> line :
        records.all(RecordTypes.AUDIT).entrySet()) {
      lines.addFirst(new Line(line.getKey(), line.getValue().value()));
      if (lines.size() > limit) {
        lines.removeLast();
      }
    }
    return List.copyOf(lines);
  }

  private List<String> tooMany() {
    int count = records.count(RecordTypes.AUDIT);
    return count <= KEPT
        ? List.of()
        : records.first(RecordTypes.AUDIT, Math.min(count - KEPT, NOTES_A_COUNT));
  }
}
