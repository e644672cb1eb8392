// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.server.limits.QueueLimits;
import io.gpupool.server.limits.ServerLimits;
import io.gpupool.server.limits.SessionLimits;
import io.gpupool.wire.ByteSize;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * Limits of one tenant on a server, of the moves by which it makes room, and the memory that the
 * server reserves for itself.
 */
final class LimitOptions {
  @Option(
      names = "--lease-sessions",
      paramLabel = "N",
      description = "processes of one lease at a time, at most 64 (default: 64)")
  private int perLease = SessionLimits.DEFAULT.perLease();

  @Option(
      names = "--tenant-sessions",
      paramLabel = "N",
      description = "sessions of one tenant at a time (default: 256)")
  private int perTenant = SessionLimits.DEFAULT.perTenant();

  @Option(
      names = "--sessions",
      paramLabel = "N",
      description = "sessions of this server at a time (default: 1024)")
  private int perServer = SessionLimits.DEFAULT.perServer();

  @Option(
      names = "--session-rate",
      paramLabel = "N",
      description = {
        "sessions that one tenant may open in a second, in the long run; four seconds' worth may"
            + " come",
        "at once (default: 32)"
      })
  private int perSecond = SessionLimits.DEFAULT.perSecond();

  @Option(
      names = "--worker-starts",
      paramLabel = "N",
      description = {
        "workers that start at the same time; tenants take turns (default: one for each processor,",
        "two at least)"
      })
  private int workerStarts = SessionLimits.DEFAULT.workerStarts();

  @Option(
      names = "--worker-memory",
      paramLabel = "SIZE",
      description = {
        "memory set aside for each worker: a session that has no room for it beside the others is",
        "refused (default: 160Mi)"
      })
  private @Nullable String workerMemory;

  @Option(
      names = "--reserved-memory",
      paramLabel = "SIZE",
      description = "memory set aside for the server itself (default: 768Mi)")
  private @Nullable String reservedMemory;

  @Option(
      names = "--tenant-requests",
      paramLabel = "N",
      description = {
        "requests of one tenant that wait at a time; one token has half of them (default: 1024)"
      })
  private int requests = QueueLimits.DEFAULT.perTenant();

  @Option(
      names = "--defragment-moves",
      paramLabel = "N",
      description = {
        "leases that may be moved in an hour to make room for requests that wait at this server and"
            + " fit",
        "the pool, but no GPU of it (default: 0; the reason of the request names the moves)"
      })
  private int moves = ServerLimits.DEFAULT.movesPerHour();

  ServerLimits options() {
    return new ServerLimits(
        new SessionLimits(
            perLease,
            perTenant,
            perServer,
            perSecond,
            workerStarts,
            bytes(workerMemory, SessionLimits.WORKER_BYTES),
            bytes(reservedMemory, SessionLimits.RESERVED_BYTES)),
        new QueueLimits(
            QueueLimits.DEFAULT.perServer(), requests, QueueLimits.DEFAULT.guaranteed()),
        moves);
  }

  private static long bytes(@Nullable String text, long otherwise) {
    return text == null ? otherwise : ByteSize.parse(text).bytes();
  }
}
