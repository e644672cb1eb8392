// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import java.util.Locale;

/** The names that driver, scheduler and pool share. */
final class DraNames {
  /** The driver's, and that of the class of its devices. */
  static final String DRIVER = "gpupool.io";

  /** The kind of the devices that stand for claims, for container runtimes. */
  static final String CLAIM_KIND = "gpupool.io/claim";

  static final String MEMORY = "memory";
  static final String COMPUTE = "compute";

  private static final int LABEL = 63;

  private DraNames() {}

  /**
   * What stands for a claim: among a lease's containers, in the environment of its containers, and
   * as a device's name.
   */
  static String claim(String uid) {
    return "claim-" + uid;
  }

  /** The pool of devices that are one server's. */
  static String pool(String server) {
    return plain(server, '.');
  }

  static String device(String gpuUuid) {
    return plain(gpuUuid, '-');
  }

  /** In small letters, digits and hyphens, as names in Kubernetes are. */
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
