// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.options;

import io.gpupool.runtime.BackOff;
import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * The options of a lease controller.
 *
 * @param cluster distinguishes this cluster's leases from those of others that share the pool
 * @param grace how long the pool keeps a lease that nobody holds and no program uses
 */
public record ControllerOptions(String cluster, Duration grace, Times times) {
  public static final Duration GRACE = Duration.ofMinutes(10);

  /**
   * The times at which the controller acts.
   *
   * @param partial how long a pod that does not run yet may hold some of its leases and wait for
   *     others: longer than the minute after which the pool keeps GPUs for a waiting request
   * @param unplaced how long a pod may hold leases while no node takes it
   * @param nodeGone how long a node may be missing, or a pod's end be overdue on one that does not
   *     answer, until the pod counts as gone
   * @param sweep how often the pool's leases are compared with the pods
   * @param retries the pauses after a failed call to the pool or the API server
   * @param refusals the pauses after a refused request
   */
  public record Times(
      Contact contact,
      Duration partial,
      Duration unplaced,
      Duration nodeGone,
      Duration sweep,
      Pauses retries,
      Pauses refusals,
      Reports reports) {
    public static final Times USUAL =
        new Times(
            new Contact(Duration.ofMinutes(5), Duration.ofSeconds(15)),
            Duration.ofMinutes(3),
            Duration.ofMinutes(5),
            Duration.ofSeconds(60),
            Duration.ofSeconds(60),
            new Pauses(Duration.ofMillis(200), Duration.ofSeconds(20)),
            new Pauses(Duration.ofSeconds(30), Duration.ofMinutes(10)),
            new Reports(
                Duration.ofSeconds(10),
                Duration.ofMinutes(5),
                Duration.ofMillis(500),
                Duration.ofSeconds(5)));
  }

  /**
   * The times of the contact with the API server.
   *
   * @param lost how long the API server may not answer until the controller lets leases go, which
   *     then live by their programs and their grace
   * @param every how often the API server is asked whether it is there
   */
  public record Contact(Duration lost, Duration every) {}

  /** The first pause before another attempt, and the longest. */
  public record Pauses(Duration first, Duration longest) {
    /** Returns pauses of which a part is left out by chance. */
    public BackOff jittered(RandomGenerator random) {
      return BackOff.jittered(first, longest, random);
    }
  }

  /**
   * The times of what is written about pods.
   *
   * @param position how often a waiting pod's position is written at most
   * @param repeated how often a pod has an event of the same kind at most
   * @param quiet how long a request may wait before that is written at all
   * @param disconnected how often the pool is asked which sessions have lost their connection
   */
  public record Reports(
      Duration position, Duration repeated, Duration quiet, Duration disconnected) {}

  public ControllerOptions {
    if (cluster.isBlank()) {
      throw new IllegalArgumentException("the cluster has no name");
    }
    if (grace.toMillis() < 1000) {
      throw new IllegalArgumentException("a grace of " + grace + " is under a second");
    }
  }

  /** Returns options that fit any cluster. */
  public static ControllerOptions of(String cluster) {
    return new ControllerOptions(cluster, GRACE, Times.USUAL);
  }

  /** Returns the user that holds this cluster's leases, as the pool shows it. */
  public String holder() {
    return "kubernetes/" + cluster;
  }
}
