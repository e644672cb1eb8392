// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The policy by which servers are added and removed.
 *
 * @param servers prefix of the names of the servers to scale; empty: all
 * @param model counts only requests that this GPU model satisfies; empty: all requests
 * @param gpusPerServer GPUs of a server that would be added; 0: as many as the largest server has
 * @param minServers the fewest servers
 * @param maxServers the most servers
 * @param headroomGpus GPUs to keep ready on servers without leases
 */
public record ScalingPolicy(
    String servers,
    String model,
    int gpusPerServer,
    int minServers,
    int maxServers,
    int headroomGpus,
    Delays delays) {
  /**
   * The delays before a change.
   *
   * @param scaleOutMillis how long a request waits before a server is added for it
   * @param scaleInMillis how long a server has no lease before it is removed
   * @param coolDownMillis how long after any change no server is removed
   */
  record Delays(long scaleOutMillis, long scaleInMillis, long coolDownMillis) {}

  static final ScalingPolicy DEFAULT =
      new ScalingPolicy("", "", 0, 0, 1000, 0, new Delays(10_000, 600_000, 300_000));

  private static final Set<String> KEYS =
      Set.of(
          "servers",
          "model",
          "gpusPerServer",
          "minServers",
          "maxServers",
          "headroomGpus",
          "scaleOutDelaySeconds",
          "scaleInDelaySeconds",
          "coolDownSeconds");

  /** What KEDA itself puts beside, and how a caller proves who it is. */
  private static final Set<String> OTHERS =
      Set.of(
          "scalerAddress",
          "enableTLS",
          "unsafeSsl",
          "metricName",
          "metricType",
          PoolWatch.TOKEN,
          PoolWatch.TOKEN_FROM_ENV);

  public ScalingPolicy {
    if (minServers > maxServers) {
      throw new IllegalArgumentException(
          "minServers is " + minServers + ", more than maxServers, " + maxServers);
    }
  }

  /**
   * From the metadata of a trigger; what is not given is as by default.
   *
   * @throws IllegalArgumentException if a key is unknown or a value is not one
   */
  static ScalingPolicy of(Map<String, String> metadata) {
    for (String key : metadata.keySet()) {
      if (!KEYS.contains(key) && !OTHERS.contains(key)) {
        throw new IllegalArgumentException(
            "'" + key + "' is not known; there are " + String.join(", ", new TreeSet<>(KEYS)));
      }
    }
    return new ScalingPolicy(
        metadata.getOrDefault("servers", DEFAULT.servers),
        metadata.getOrDefault("model", DEFAULT.model),
        (int) number(metadata, "gpusPerServer", DEFAULT.gpusPerServer, 1024),
        (int) number(metadata, "minServers", DEFAULT.minServers, 100_000),
        (int) number(metadata, "maxServers", DEFAULT.maxServers, 100_000),
        (int) number(metadata, "headroomGpus", DEFAULT.headroomGpus, 1_000_000),
        new Delays(
            millis(metadata, "scaleOutDelaySeconds", DEFAULT.delays.scaleOutMillis),
            millis(metadata, "scaleInDelaySeconds", DEFAULT.delays.scaleInMillis),
            millis(metadata, "coolDownSeconds", DEFAULT.delays.coolDownMillis)));
  }

  private static long millis(Map<String, String> metadata, String key, long otherwiseMillis) {
    return 1000 * number(metadata, key, otherwiseMillis / 1000, 30L * 24 * 3600);
  }

  private static long number(
      Map<String, String> metadata, String key, long otherwise, long largest) {
    String text = metadata.get(key);
    if (text == null) {
      return otherwise;
    }
    try {
      long number = Long.parseLong(text.strip());
      if (number >= 0 && number <= largest) {
        return number;
      }
    } catch (NumberFormatException e) {
      // told below
    }
    throw new IllegalArgumentException(
        key + " is '" + text + "'; give a whole number from 0 to " + largest);
  }
}
