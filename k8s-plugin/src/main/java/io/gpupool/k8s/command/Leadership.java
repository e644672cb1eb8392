// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElector;
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
   * How long a leader is one without renewing that, and when it gives up by itself. A request may
   * take {@link #REQUEST_MILLIS} more than that, which is still less. A little shorter than is
   * usual: pods get no leases between a leader's death and the next one's election.
   */
  private static final Duration LEASE = Duration.ofSeconds(12);

  private static final Duration RENEW = Duration.ofSeconds(7);
  private static final Duration RETRY = Duration.ofSeconds(1);

  /** How long the requests of the client of an election may take. */
  static final int REQUEST_MILLIS = 4000;

  private final KubernetesClient client;
  private final ElectionLock lock;
  private final Supplier<AutoCloseable> term;
  private final Thread thread;
  private volatile boolean leading;

  private Leadership(KubernetesClient client, ElectionLock lock, Supplier<AutoCloseable> term) {
    this.client = client;
    this.lock = lock;
    this.term = term;
    thread = Thread.ofPlatform().name("leadership").daemon().unstarted(this::run);
  }

  /**
   * Stands for election, time and again.
   *
   * @param client whose requests take {@link #REQUEST_MILLIS} at most; not closed with it
   * @param term begins what the leader does; closed when this is not the leader any more
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

  /** Until it was elected and is not any more. */
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
      // Gives the leadership back; what the leader did has ended by now.
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

  /** Ends what the leader does, and then lets another be elected. */
  @Override
  public void close() {
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
