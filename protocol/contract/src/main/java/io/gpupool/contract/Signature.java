// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.Map;
import java.util.stream.Collectors;

/** The Java shape of one entry point of the backend. */
record Signature(EntryPoint entryPoint, Map<String, CudaType> types) {
  /** Returns for example {@code long stream, int flags}. */
  String declaration() {
    return entryPoint.parameters().stream()
        .map(p -> JavaType.of(p, types).keyword() + " " + p.name())
        .collect(Collectors.joining(", "));
  }

  /** Returns for example {@code stream, flags}. */
  String arguments() {
    return entryPoint.parameters().stream()
        .map(p ->
            JavaType.of(p, types) == JavaType.STRUCT
                ? "LibCuda.struct64(" + p.name() + ")"
                : p.name())
        .collect(Collectors.joining(", "));
  }

  /**
   * Returns the result's layout and then the parameters', such as {@code JAVA_INT, JAVA_LONG,
   * JAVA_INT}.
   */
  String layouts() {
    return "JAVA_INT"
        + entryPoint.parameters().stream()
            .map(p -> ", " + JavaType.of(p, types).layout())
            .collect(Collectors.joining());
  }

  /** Returns the C parameters, for documentation. */
  String comment() {
    return entryPoint.parameters().stream()
        .map(Parameter::declaration)
        .collect(Collectors.joining(", "));
  }
}
