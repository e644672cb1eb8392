// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.drain;

import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The servers that were taken out of service because of their nodes, so that these and no others
 * are put back. They are kept in an annotation of their StatefulSet, because pods and controllers
 * come and go.
 *
 * @param nodes by server
 */
record Drained(Map<String, String> nodes) {
  static final String ANNOTATION = "gpupool.io/drained";

  Drained {
    nodes = Collections.unmodifiableMap(new TreeMap<>(nodes));
  }

  /** Reads {@code SERVER=NODE,SERVER=NODE}; entries of another form are ignored. */
  static Drained parse(String annotation) {
    return new Drained(
        Arrays.stream(annotation.split(","))
            .map(entry -> entry.split("=", -1))
            .filter(entry -> entry.length == 2 && !entry[0].isBlank() && !entry[1].isBlank())
            .collect(Collectors.toMap(entry -> entry[0], entry -> entry[1], (a, b) -> b)));
  }

  /** Returns the text that {@link #parse} reads; empty: there are none. */
  Optional<String> text() {
    return nodes.isEmpty()
        ? Optional.empty()
        : Optional.of(
            nodes.entrySet().stream()
                .map(entry -> entry.getKey() + "=" + entry.getValue())
                .collect(Collectors.joining(",")));
  }

  Drained with(String server, String node) {
    Map<String, String> more = new TreeMap<>(nodes);
    more.put(server, node);
    return new Drained(more);
  }

  Drained without(String server) {
    Map<String, String> fewer = new TreeMap<>(nodes);
    fewer.remove(server);
    return new Drained(fewer);
  }
}
