// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A writer of the interface of each part of a backend, and of the backend that consists of parts.
 */
final class ComposedBackendEmitter {
  private final Contract contract;
  private final Map<String, List<EntryPoint>> parts;
  private final Path outputFolder;

  ComposedBackendEmitter(Contract contract, BackendParts parts, Path outputFolder) {
    this.contract = contract;
    this.parts = parts.of(contract);
    this.outputFolder = outputFolder;
  }

  void emit() throws IOException {
    for (Map.Entry<String, List<EntryPoint>> part : parts.entrySet()) {
      emitPart(part.getKey(), part.getValue());
    }
    emitComposed();
  }

  private void emitPart(String part, List<EntryPoint> entryPoints) throws IOException {
    String type = typeOf(part);
    JavaSource source = new JavaSource(type);
    source.line("/** Driver calls of the part {@code %s}, as in {@link Backend}. */", part);
    source.line("public interface %s {", type);
    for (EntryPoint entryPoint : entryPoints) {
      Signature signature = new Signature(entryPoint, contract.types());
      source.line("  /** Executes the call, with parameters {@code (%s)}. */", signature.comment());
      source.line("  int %s(%s);", entryPoint.symbol(), signature.declaration());
      source.line("");
    }
    source.line("}");
    source.write(outputFolder);
  }

  private void emitComposed() throws IOException {
    JavaSource source = new JavaSource("ComposedBackend");
    source.line("/** Backend that consists of one part for each group of driver calls. */");
    source.line("public abstract class ComposedBackend implements Backend {");
    for (String part : parts.keySet()) {
      source.line("  /** Returns the part {@code %s}. */", part);
      source.line("  protected abstract %s %s();", typeOf(part), accessorOf(part));
      source.line("");
    }
    parts.forEach((part, entryPoints) ->
        entryPoints.forEach(entryPoint -> emitForward(source, accessorOf(part), entryPoint)));
    source.line("}");
    source.write(outputFolder);
  }

  private void emitForward(JavaSource source, String accessor, EntryPoint entryPoint) {
    Signature signature = new Signature(entryPoint, contract.types());
    String names =
        entryPoint.parameters().stream().map(Parameter::name).collect(Collectors.joining(", "));
    source.line("  @Override");
    source.line("  public int %s(%s) {", entryPoint.symbol(), signature.declaration());
    source.line("    return %s().%s(%s);", accessor, entryPoint.symbol(), names);
    source.line("  }");
    source.line("");
  }

  private static String typeOf(String part) {
    return Arrays.stream(part.split("-"))
            .map(word -> Character.toUpperCase(word.charAt(0)) + word.substring(1))
            .collect(Collectors.joining())
        + "Calls";
  }

  private static String accessorOf(String part) {
    String type = typeOf(part);
    return Character.toLowerCase(type.charAt(0)) + type.substring(1);
  }
}
