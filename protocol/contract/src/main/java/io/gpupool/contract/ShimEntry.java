// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The form of an entry point in C: its prototypes, and the arguments that its variants pass on. */
record ShimEntry(EntryPoint entryPoint) {
  /** Returns the name of the function that does the work. */
  String worker() {
    return "shim_" + entryPoint.symbol();
  }

  /** Returns the exported names: the symbol and its per-thread variant. */
  List<String> symbols() {
    List<String> symbols = new ArrayList<>();
    symbols.add(entryPoint.symbol());
    perThreadSymbol().ifPresent(symbols::add);
    return symbols;
  }

  Optional<String> perThreadSymbol() {
    return Optional.ofNullable(entryPoint.perThread()).map(suffix -> entryPoint.symbol() + suffix);
  }

  String parameters() {
    if (entryPoint.parameters().isEmpty()) {
      return "void";
    }
    return entryPoint.parameters().stream()
        .map(Parameter::declaration)
        .collect(Collectors.joining(", "));
  }

  /** Returns {@link #parameters}, followed by the default stream if no parameter names a stream. */
  String workerParameters() {
    return impliesStream() ? parameters() + ", CUstream implied" : parameters();
  }

  /**
   * Returns the arguments that the exported symbol or its per-thread variant passes to the worker.
   */
  String arguments(boolean perThread) {
    List<String> arguments = new ArrayList<>();
    for (Parameter parameter : entryPoint.parameters()) {
      String name = parameter.name();
      boolean mapped = perThread && parameter.type().equals("CUstream");
      arguments.add(mapped ? name + " ? " + name + " : CU_STREAM_PER_THREAD" : name);
    }
    if (impliesStream()) {
      arguments.add(perThread ? "CU_STREAM_PER_THREAD" : "CU_STREAM_LEGACY");
    }
    return String.join(", ", arguments);
  }

  /** Returns whether the worker is told the default stream. */
  boolean impliesStream() {
    return entryPoint.perThread() != null
        && entryPoint.parameters().stream().noneMatch(p -> p.type().equals("CUstream"));
  }
}
