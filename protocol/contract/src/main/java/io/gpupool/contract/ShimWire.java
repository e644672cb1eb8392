// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import io.gpupool.contract.Layout.LayoutField;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A writer of {@code wire.h}: results, numbers and structs that both ends of a call stream know.
 */
final class ShimWire {
  private final Contract contract;

  ShimWire(Contract contract) {
    this.contract = contract;
  }

  void emit(Path outputFolder) throws IOException {
    CSource header = new CSource("wire.h");
    header.line("#include \"cuda_types.h\"");
    emitResults(header);
    for (NumberSet set : contract.wire().numbers()) {
      header.line("");
      header.line("// %s", set.name());
      header.line("enum {");
      set.values().forEach((name, value) -> header.line("  %s%s = %d,", set.prefix(), name, value));
      header.line("};");
    }
    for (Layout layout : contract.wire().layouts()) {
      header.line("");
      header.line("%s {", layout.cType());
      for (LayoutField field : layout.fields()) {
        header.line("  %s;", field.declaration());
      }
      header.line("};");
      header.line(
          "_Static_assert(sizeof(%1$s) == %2$d, \"%1$s\");", layout.cType(), layout.sizeBytes());
    }
    header.write(outputFolder);
  }

  private void emitResults(CSource header) {
    header.line("");
    header.line("enum {");
    for (CudaResultCode result : contract.wire().results()) {
      header.line("  %s = %d,", result.cName(), result.code());
    }
    header.line("};");
    header.line("");
    header.line("// Calls RESULT(code, name, text) of each, in the order of the codes.");
    header.line("#define CUDA_RESULTS(RESULT) \\");
    for (CudaResultCode result : contract.wire().results()) {
      header.line("  RESULT(%d, \"%s\", \"%s\") \\", result.code(), result.cName(), result.text());
    }
  }
}
