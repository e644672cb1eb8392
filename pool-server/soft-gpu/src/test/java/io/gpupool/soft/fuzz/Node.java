// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import java.util.ArrayList;
import java.util.List;

/** A piece of a generated body; pieces can be left out when a failing kernel is made smaller. */
sealed interface Node {
  /** Lines that stand or fall with the group around them. */
  record Fixed(List<String> lines) implements Node {}

  /** One statement, or a few that belong together; any kernel is valid without them. */
  record Lines(List<String> lines) implements Node {}

  /** A construct, such as a loop with what is in it. */
  record Group(List<Node> parts) implements Node {}

  static Node fixed(String... lines) {
    return new Fixed(List.of(lines));
  }

  static Node lines(String... lines) {
    return new Lines(List.of(lines));
  }

  static void render(List<Node> nodes, StringBuilder text) {
    for (Node node : nodes) {
      switch (node) {
        case Fixed(var lines) -> lines.forEach(line -> text.append("  ").append(line).append('\n'));
        case Lines(var lines) -> lines.forEach(line -> text.append("  ").append(line).append('\n'));
        case Group(var parts) -> render(parts, text);
      }
    }
  }

  /** Every version of some nodes that lacks one piece, those that lack most first. */
  static List<List<Node>> smaller(List<Node> nodes) {
    List<List<Node>> versions = new ArrayList<>();
    for (int half = nodes.size() / 2; half > 1; half /= 2) {
      for (int from = 0; from < nodes.size(); from += half) {
        List<Node> rest = new ArrayList<>(nodes);
        rest.subList(from, Math.min(nodes.size(), from + half))
            .removeIf(n -> !(n instanceof Fixed));
        versions.add(rest);
      }
    }
    for (int i = 0; i < nodes.size(); i++) {
      if (!(nodes.get(i) instanceof Fixed)) {
        List<Node> rest = new ArrayList<>(nodes);
        rest.remove(i);
        versions.add(rest);
      }
    }
    for (int i = 0; i < nodes.size(); i++) {
      if (nodes.get(i) instanceof Group(var parts)) {
        for (List<Node> smaller : smaller(parts)) {
          List<Node> changed = new ArrayList<>(nodes);
          changed.set(i, new Group(smaller));
          versions.add(changed);
        }
      }
    }
    versions.removeIf(version -> version.equals(nodes));
    return versions;
  }
}
