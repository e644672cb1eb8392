// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.Map;
import java.util.stream.Collectors;

/** The Java shape of one entry point of the backend. */
record Signature(EntryPoint entryPoint, Map<String, CudaType> types) {
  /** {@code long stream, int flags}. */
  String declaration() {
    return entryPoint.parameters().stream()
        .map(p -> JavaType.of(p, types).keyword() + " " + p.name())
        .collect(Collectors.joining(", "));
  }

  /** {@code stream, flags}. */
  String arguments() {
    return entryPoint.parameters().stream()
        .map(p ->
            JavaType.of(p, types) == JavaType.STRUCT
                ? "LibCuda.struct64(" + p.name() + ")"
                : p.name())
        .collect(Collectors.joining(", "));
  }

  /** {@code JAVA_INT, JAVA_LONG, JAVA_INT}: the result, then the parameters. */
  String layouts() {
    return "JAVA_INT"
        + entryPoint.parameters().stream()
            .map(p -> ", " + JavaType.of(p, types).layout())
            .collect(Collectors.joining());
  }

  /** The C parameters, for documentation. */
  String comment() {
    return entryPoint.parameters().stream()
        .map(Parameter::declaration)
        .collect(Collectors.joining(", "));
  }
}
