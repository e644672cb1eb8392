// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The Java shape of one entry point of the backend.
 *
 * <p>The driver's function is called with words, and returns one. By the calling conventions of
 * x86-64 and AArch64 a function takes no notice of words beyond those it has, nor of the upper half
 * of an int; an int that it returns is in the lower half. So the JVM makes code for calls of a few
 * lengths, and not ten classes for each of the functions' signatures, which would take most of a
 * worker's start.
 */
record Signature(EntryPoint entryPoint, Map<String, CudaType> types) {
  /** Lengths of a call: what registers hold, a launch, and the longest. */
  private static final List<Integer> WORDS = List.of(6, 11, 17);

  /** Returns for example {@code long stream, int flags}. */
  String declaration() {
    return entryPoint.parameters().stream()
        .map(p -> type(p).keyword() + " " + p.name())
        .collect(Collectors.joining(", "));
  }

  /** Returns the words of a call, for example {@code stream, (long) flags, 0L, 0L, 0L, 0L}. */
  String arguments() {
    return Stream.concat(
            entryPoint.parameters().stream().map(this::argument),
            Stream.generate(() -> "0L").limit(spareWords()))
        .collect(Collectors.joining(", "));
  }

  private String argument(Parameter parameter) {
    return switch (type(parameter)) {
      case STRUCT -> "LibCuda.struct64(" + parameter.name() + ")";
      case INT -> "(long) " + parameter.name();
      case LONG, FLOAT -> parameter.name();
    };
  }

  /** Returns the layouts of the result and then of {@link #arguments}. */
  String layouts() {
    Stream<String> own = entryPoint.parameters().stream().map(p -> type(p).layout());
    Stream<String> spare = Stream.generate(JavaType.LONG::layout).limit(spareWords());
    return Stream.of(Stream.of(JavaType.LONG.layout()), own, spare)
        .flatMap(layouts -> layouts)
        .collect(Collectors.joining(", "));
  }

  private int spareWords() {
    boolean areWords =
        entryPoint.parameters().stream()
            .map(this::type)
            .allMatch(type -> type == JavaType.INT || type == JavaType.LONG);
    int own = entryPoint.parameters().size();
    return areWords
        ? WORDS.stream().filter(length -> length >= own).findFirst().orElse(own) - own
        : 0;
  }

  private JavaType type(Parameter parameter) {
    return JavaType.of(parameter, types);
  }

  /** Returns the C parameters, for documentation. */
  String comment() {
    return entryPoint.parameters().stream()
        .map(Parameter::declaration)
        .collect(Collectors.joining(", "));
  }
}
