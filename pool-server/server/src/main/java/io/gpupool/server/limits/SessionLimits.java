// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

import io.gpupool.wire.ByteSize;

/**
 * The limits on the sessions of a server.
 *
 * @param perLease processes of one lease at a time
 * @param perTenant sessions of one tenant at a time
 * @param perServer sessions of all tenants at a time
 * @param perSecond sessions that one tenant may open per second, in the long run
 * @param workerStarts worker processes that start at the same time
 * @param workerBytes memory reserved for each worker
 * @param reservedBytes memory reserved for the server itself
 */
public record SessionLimits(
    int perLease,
    int perTenant,
    int perServer,
    int perSecond,
    int workerStarts,
    long workerBytes,
    long reservedBytes) {
  /** The ledger of a lease has a slot for each of so many processes. */
  public static final int MAX_PER_LEASE = 64;

  /** A worker's Java runtime with a small program; what a program uses beyond that is seen. */
  public static final long WORKER_BYTES = 160L << 20;

  /** The server's heap and buffers. */
  public static final long RESERVED_BYTES = 768L << 20;

  public static final SessionLimits DEFAULT =
      new SessionLimits(
          MAX_PER_LEASE,
          256,
          1024,
          32,
          Math.max(2, Runtime.getRuntime().availableProcessors()),
          WORKER_BYTES,
          RESERVED_BYTES);

  public SessionLimits {
    Bounds.check("--lease-sessions", perLease, 1, MAX_PER_LEASE);
    Bounds.check("--tenant-sessions", perTenant, 1, 1 << 16);
    Bounds.check("--sessions", perServer, 1, 1 << 16);
    Bounds.check("--session-rate", perSecond, 1, 10_000);
    Bounds.check("--worker-starts", workerStarts, 1, 1024);
    if (workerBytes < 1 || reservedBytes < 0) {
      throw new IllegalArgumentException(
          "--worker-memory "
              + new ByteSize(Math.max(0, workerBytes))
              + ": give the memory that a worker starts with, such as 160Mi");
    }
  }
}
