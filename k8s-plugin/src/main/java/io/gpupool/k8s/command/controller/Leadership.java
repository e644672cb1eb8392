// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElector;
import io.gpupool.runtime.BackgroundThread;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A candidacy for the leadership among replicas. The leader makes certificates and leases. It has
 * its own thread; for any thread.
 */
final class Leadership implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Leadership.class);

  /**
   * The time for which a leader stays one without renewing, and after which it gives up by itself.
   * A request may take {@link #REQUEST_MILLIS} more than the latter, which is still less than the
   * former. Both are a little shorter than usual, because pods get no leases between a leader's
   * death and the next election.
   */
  private static final Duration LEASE = Duration.ofSeconds(12);

  private static final Duration RENEW = Duration.ofSeconds(7);
  private static final Duration RETRY = Duration.ofSeconds(1);

  /** The time limit for requests of an election's client. */
  static final int REQUEST_MILLIS = 4000;

  private final KubernetesClient client;
  private final ElectionLock lock;
  private final Supplier<AutoCloseable> term;
  private final BackgroundThread thread;
  private volatile boolean leading;

  private Leadership(KubernetesClient client, ElectionLock lock, Supplier<AutoCloseable> term) {
    this.client = client;
    this.lock = lock;
    this.term = term;
    thread = new BackgroundThread(Thread.ofPlatform().name("leadership").daemon(), this::run);
  }

  /**
   * Stands for election again and again.
   *
   * @param client a client whose requests take {@link #REQUEST_MILLIS} at most; not closed with
   *     this
   * @param term begins the leader's work; closed when this is no longer the leader
   */
  static Leadership start(
      KubernetesClient client, ElectionLock lock, Supplier<AutoCloseable> term) {
    Leadership leadership = new Leadership(client, lock, term);
    leadership.thread.start();
    return leadership;
  }

  boolean isLeading() {
    return leading;
  }

  private void run() {
    try {
      while (true) {
        campaign();
      }
    } catch (InterruptedException e) {
      // Closed.
    }
  }

  /** Stands for election once; returns when the leadership has ended. */
  private void campaign() throws InterruptedException {
    CompletableFuture<Boolean> elected = new CompletableFuture<>();
    LeaderElector elector =
        client
            .leaderElector()
            .withConfig(
                new LeaderElectionConfigBuilder()
                    .withName(lock.describe())
                    .withLock(lock)
                    .withLeaseDuration(LEASE)
                    .withRenewDeadline(RENEW)
                    .withRetryPeriod(RETRY)
                    .withReleaseOnCancel(true)
                    .withLeaderCallbacks(
                        new LeaderCallbacks(
                            () -> elected.complete(true), () -> {}, leader -> tell(leader)))
                    .build())
            .build();
    CompletableFuture<?> candidacy = elector.start();
    candidacy.whenComplete((done, failure) -> elected.complete(false));
    try {
      if (elected.get()) {
        lead(candidacy);
      }
    } catch (ExecutionException e) {
      LOG.error("the election failed; it begins again", e);
      Thread.sleep(RETRY);
    } finally {
      // Gives the leadership back; the leader's work has ended by now.
      candidacy.cancel(true);
    }
  }

  private void lead(CompletableFuture<?> candidacy)
      throws InterruptedException, ExecutionException {
    LOG.info("this replica makes certificates and leases from now on");
    try (AutoCloseable _ = term.get()) {
      leading = true;
      candidacy.get();
      LOG.warn("this replica is not the leader any more");
    } catch (InterruptedException | ExecutionException e) {
      throw e;
    } catch (Exception e) {
      LOG.error("the leader's work did not begin or end in order", e);
      Thread.sleep(RETRY);
    } finally {
      leading = false;
    }
  }

  private void tell(String leader) {
    if (leader != null && !leader.isEmpty() && !leader.equals(lock.identity())) {
      LOG.info("{} makes certificates and leases; this replica stands by", leader);
    }
  }

  /** Ends the leader's work, and then lets another be elected. */
  @Override
  public void close() {
    thread.close();
  }
}
