// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import io.gpupool.contract.Layout.LayoutField;
import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Collectors;

/** A writer of the worker's classes of numbers, offsets and results. */
final class WireEmitter {
  private final Contract contract;
  private final Path outputFolder;

  WireEmitter(Contract contract, Path outputFolder) {
    this.contract = contract;
    this.outputFolder = outputFolder;
  }

  void emit() throws IOException {
    emitResults();
    for (NumberSet set : contract.wire().numbers()) {
      JavaSource source = new JavaSource(set.name());
      source.line("/** Numbers that both ends of a call stream know. */");
      begin(source, set.name());
      set.values().forEach((name, value) -> constant(source, name, value));
      source.line("}");
      source.write(outputFolder);
    }
    for (Layout layout : contract.wire().layouts()) {
      JavaSource source = new JavaSource(layout.name());
      source.line("/** Offsets of the fields of {@code %s}. */", layout.cName());
      begin(source, layout.name());
      constant(source, "BYTES", layout.sizeBytes());
      for (LayoutField field : layout.fields()) {
        constant(source, field.constant(), field.offset());
      }
      source.line("}");
      source.write(outputFolder);
    }
  }

  private void emitResults() throws IOException {
    JavaSource source = new JavaSource("CudaResult");
    source.line("/** Results of the driver API (CUresult). */");
    begin(source, "CudaResult");
    for (CudaResultCode result : contract.wire().results()) {
      constant(source, result.name(), result.code());
    }
    String sticky =
        contract.wire().results().stream()
            .filter(CudaResultCode::sticky)
            .map(CudaResultCode::name)
            .collect(Collectors.joining(", "));
    source.line("");
    source.line("  /** Returns whether every later call of the context returns the same. */");
    source.line("  public static boolean isSticky(int result) {");
    source.line("    return switch (result) {");
    source.line("      case %s -> true;", sticky);
    source.line("      default -> false;");
    source.line("    };");
    source.line("  }");
    source.line("}");
    source.write(outputFolder);
  }

  private static void begin(JavaSource source, String name) {
    source.line("public final class %s {", name);
    source.line("  private %s() {}", name);
    source.line("");
  }

  private static void constant(JavaSource source, String name, int value) {
    source.line("  public static final int %s = %d;", name, value);
  }
}
