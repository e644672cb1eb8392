// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import java.time.Duration;

/**
 * The options of the driver's part in the controller.
 *
 * @param release the prefix of its slices' names
 * @param cluster distinguishes this cluster's leases from those of others that share the pool
 * @param partition the name of the partitions that are set aside for claims
 * @param grace how long the pool keeps a lease that nobody holds and no program uses
 * @param look how often the pool is asked what it has
 * @param gone how long the devices of a server that is gone are still published, with a taint that
 *     evicts their pods
 * @param retry the first pause after a failed request; the longest is a hundred times that
 * @param sweep how often the pool's leases are compared with the claims
 */
public record DraOptions(
    String release,
    String cluster,
    String partition,
    Duration grace,
    Duration look,
    Duration gone,
    Duration retry,
    Duration sweep) {
  public static final String PARTITION = "dra";

  /** Returns options that fit any cluster. */
  public static DraOptions of(String release, String cluster, String partition, Duration grace) {
    return new DraOptions(
        release,
        cluster,
        partition,
        grace,
        Duration.ofSeconds(5),
        Duration.ofMinutes(10),
        Duration.ofMillis(500),
        Duration.ofSeconds(60));
  }

  /** Returns the user that holds the leases of this cluster's claims, as the pool shows it. */
  String holder() {
    return "kubernetes-dra/" + cluster;
  }
}
