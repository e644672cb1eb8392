// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.worker.session.module.ImageStore;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The means that a session is given.
 *
 * @param gpus the GPUs of its lease, in the order in which the program numbers them
 * @param ledger of the lease
 * @param images where images of earlier sessions are
 * @param spinNanos how long its thread looks for more input before it sleeps
 * @param driverOutput for a driver that prints to the standard output of the process when it is
 *     synchronised: sends what it has printed; run before a fence is answered, by any thread
 * @param others the ways to other sessions
 * @param resume how long it outlives its connection
 */
public record SessionPlan(
    List<LeasedGpu> gpus,
    Ledger ledger,
    ImageStore images,
    long spinNanos,
    @Nullable Runnable driverOutput,
    OtherSessions others,
    ResumeWindow resume) {
  /** About the time of a wake-up: polling for longer than that wins nothing. */
  public static final long DEFAULT_SPIN_NANOS = 50_000;

  public SessionPlan {
    gpus = List.copyOf(gpus);
  }

  /** A plan of a session by itself, for a backend that prints through the session. */
  public static SessionPlan of(List<LeasedGpu> gpus, Ledger ledger, ResumeWindow resume) {
    return new SessionPlan(
        gpus, ledger, ImageStore.NONE, DEFAULT_SPIN_NANOS, null, OtherSessions.none(), resume);
  }
}
