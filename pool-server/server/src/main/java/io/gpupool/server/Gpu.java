// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.wire.ByteSize;
import java.util.Locale;
import java.util.Map;

/**
 * A GPU as the inventory found it.
 *
 * @param server name of the server that has it
 * @param ordinal its number there, as the worker's backend counts
 * @param computeCapability for example {@code 9.0}
 * @param driverVersion as CUDA counts: 13000 is 13.0
 */
record Gpu(
    String server,
    int ordinal,
    String uuid,
    String name,
    long memoryBytes,
    String computeCapability,
    int driverVersion) {
  static final String SELECTOR_KEYS = "model, server, gpu, uuid, cc";

  Share whole() {
    return new Share(memoryBytes, Share.WHOLE_COMPUTE);
  }

  /** Whether every selector matches; a value may hold {@code *} and ignores case. */
  boolean matches(Map<String, String> selectors) {
    return selectors.entrySet().stream().allMatch(s -> matches(s.getKey(), s.getValue()));
  }

  private boolean matches(String key, String wanted) {
    String value =
        switch (key) {
          case "model" -> name;
          case "server" -> server;
          case "gpu" -> Integer.toString(ordinal);
          case "uuid" -> uuid;
          case "cc" -> computeCapability;
          default -> throw new IllegalArgumentException(key);
        };
    return Glob.matches(wanted.toLowerCase(Locale.ROOT), value.toLowerCase(Locale.ROOT));
  }

  static boolean isSelectorKey(String key) {
    return switch (key) {
      case "model", "server", "gpu", "uuid", "cc" -> true;
      default -> false;
    };
  }

  /** How messages name it. */
  String label() {
    return "GPU " + ordinal + " of " + server;
  }

  String describe() {
    return label() + ": " + name + ", " + new ByteSize(memoryBytes) + ", cc " + computeCapability;
  }
}
