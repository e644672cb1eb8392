// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.openapi;

import io.gpupool.rest.http.ProblemException;
import io.gpupool.server.identity.Role;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An operation of the document.
 *
 * @param path its segments; one in braces matches any
 * @param role the lowest role that may call it; null: anyone who can connect
 * @param mediaTypes of its successful answer; none: it has no body
 * @param body the schema of request bodies; null: requests have no body
 */
public record Operation(
    String id,
    String method,
    List<String> path,
    @Nullable Role role,
    List<Parameter> parameters,
    List<String> mediaTypes,
    @Nullable Schema body) {
  /** Returns whether a request's path, still in its escapes, is one of this operation's. */
  public boolean matches(List<String> segments) {
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

  /** Returns the values of the segments in braces, in their order. */
  public List<String> variables(List<String> segments) {
    List<String> variables = new ArrayList<>();
    for (int i = 0; i < path.size(); i++) {
      if (isVariable(path.get(i))) {
        String escaped = segments.get(i).replace("+", "%2B");
        variables.add(URLDecoder.decode(escaped, StandardCharsets.UTF_8));
      }
    }
    return variables;
  }

  public Parameter parameter(String name) throws ProblemException {
    return parameters.stream()
        .filter(parameter -> parameter.name().equals(name))
        .findFirst()
        .orElseThrow(() ->
            new ProblemException(
                400,
                "there is no such parameter; there are: "
                    + parameters.stream().map(Parameter::name).collect(Collectors.joining(", "))));
  }

  private static boolean isVariable(String segment) {
    return segment.startsWith("{");
  }
}
