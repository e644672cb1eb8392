// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.gpupool.transport.UnixAddress;
import java.nio.file.Path;
import java.time.Duration;

/**
 * The options of a device plugin.
 *
 * @param resource as containers ask for it
 * @param folder of the kubelet's socket and the plugins'
 * @param socketName file name of the plugin's socket in the folder
 * @param maxSeats the most devices that are advertised, whatever the pool has
 * @param patience how long a known pool may be unreachable until its devices are advertised as
 *     unhealthy
 * @param lookEvery how long a change in the folder may go unnoticed, and the first delay after a
 *     refused registration
 * @param unwatched how long a kubelet that has accepted the registration may go without watching
 *     the devices until the plugin registers again
 */
public record PluginOptions(
    String resource,
    Path folder,
    String socketName,
    int maxSeats,
    Duration patience,
    Duration lookEvery,
    Duration unwatched,
    ContainerAllocation wiring) {
  public static final String RESOURCE = "gpupool.io/gpu-percent";
  public static final Path FOLDER = Path.of("/var/lib/kubelet/device-plugins");

  // The extra length of the name until the socket is served: a dot, and a dot with a number.
  private static final int TEMPORARY_CHARACTERS = 10;

  /** Throws {@link IllegalArgumentException} for invalid options; the message is for people. */
  public PluginOptions {
    if (maxSeats < DeviceList.PER_GPU) {
      throw new IllegalArgumentException(
          "at most " + maxSeats + " devices are not even one GPU's: give 100 or more");
    }
    if (patience.isNegative() || !lookEvery.isPositive() || !unwatched.isPositive()) {
      throw new IllegalArgumentException(
          "a plugin's times must be positive: patience "
              + patience
              + ", look every "
              + lookEvery
              + ", unwatched "
              + unwatched);
    }
    new UnixAddress(folder.resolve(socketName) + "x".repeat(TEMPORARY_CHARACTERS));
  }

  /** Returns options that fit any node. */
  public static PluginOptions of(ContainerAllocation wiring) {
    return new PluginOptions(
        RESOURCE,
        FOLDER,
        "gpupool.sock",
        20_000,
        Duration.ofMinutes(2),
        Duration.ofSeconds(1),
        Duration.ofSeconds(10),
        wiring);
  }

  Path socket() {
    return folder.resolve(socketName);
  }

  Path kubeletSocket() {
    return folder.resolve("kubelet.sock");
  }
}
