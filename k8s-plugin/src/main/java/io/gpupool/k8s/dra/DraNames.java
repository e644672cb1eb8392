// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import java.util.Locale;

/** The names that driver, scheduler and pool share. */
final class DraNames {
  /** The name of the driver and of its device class. */
  static final String DRIVER = "gpupool.io";

  /** The kind of devices that stand for claims, for container runtimes. */
  static final String CLAIM_KIND = "gpupool.io/claim";

  static final String MEMORY = "memory";
  static final String COMPUTE = "compute";

  private static final int LABEL = 63;

  private DraNames() {}

  /**
   * Returns the name that stands for a claim: among a lease's containers, in the environment of its
   * containers, and as a device's name.
   */
  static String claim(String uid) {
    return "claim-" + uid;
  }

  /** Returns the name of a server's pool of devices. */
  static String pool(String server) {
    return plain(server, '.');
  }

  static String device(String gpuUuid) {
    return plain(gpuUuid, '-');
  }

  /** Turns a text into a Kubernetes name, of small letters, digits and hyphens. */
  private static String plain(String text, char allowed) {
    StringBuilder plain = new StringBuilder();
    for (char c : text.toLowerCase(Locale.ROOT).toCharArray()) {
      boolean good = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == allowed;
      plain.append(good ? c : '-');
    }
    String cut = plain.substring(0, Math.min(LABEL, plain.length()));
    return cut.replaceAll("^[-.]+|[-.]+$", "");
  }
}
