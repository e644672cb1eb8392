// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * One operation of the document.
 *
 * @param path its segments; that in braces stands for any
 * @param open whether it needs no token
 * @param mediaTypes of its good answer
 */
record Operation(
    String id,
    String method,
    List<String> path,
    boolean open,
    List<Parameter> parameters,
    List<String> mediaTypes) {
  /** Whether a request's path, still in its escapes, is one of this operation's. */
  boolean matches(List<String> segments) {
    if (segments.size() != path.size()) {
      return false;
    }
    for (int i = 0; i < path.size(); i++) {
      if (!isVariable(path.get(i)) && !path.get(i).equals(segments.get(i))) {
        return false;
      }
    }
    return true;
  }

  /** What stands for the one segment in braces; empty if there is none. */
  Optional<String> variable(List<String> segments) {
    for (int i = 0; i < path.size(); i++) {
      if (isVariable(path.get(i))) {
        String escaped = segments.get(i).replace("+", "%2B");
        return Optional.of(URLDecoder.decode(escaped, StandardCharsets.UTF_8));
      }
    }
    return Optional.empty();
  }

  Parameter parameter(String name) throws Problem {
    return parameters.stream()
        .filter(parameter -> parameter.name().equals(name))
        .findFirst()
        .orElseThrow(() ->
            new Problem(
                400,
                "there is no such parameter; there are: "
                    + parameters.stream().map(Parameter::name).collect(Collectors.joining(", "))));
  }

  private static boolean isVariable(String segment) {
    return segment.startsWith("{");
  }
}
