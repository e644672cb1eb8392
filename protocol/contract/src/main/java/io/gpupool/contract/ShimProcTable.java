// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A writer of {@code proc_table.h} and {@code proc_table.c}: the symbols that {@code
 * cuGetProcAddress} gives out by name and CUDA version, sorted by name and then version.
 */
final class ShimProcTable {
  private record Row(String name, int version, String symbol, String perThread, boolean ofDriver) {}

  private final Contract contract;

  ShimProcTable(Contract contract) {
    this.contract = contract;
  }

  void emit(Path outputFolder) throws IOException {
    List<Row> rows = new ArrayList<>();
    CSource source = new CSource("proc_table.c");
    source.line("#include \"proc_table.h\"");
    source.line("#include \"exports.h\"");
    for (EntryPoint entryPoint : contract.entryPoints()) {
      ShimEntry entry = new ShimEntry(entryPoint);
      String symbol = entryPoint.symbol();
      String perThread = entry.perThreadSymbol().orElse(symbol);
      rows.add(
          new Row(
              entryPoint.procName(),
              entryPoint.version(),
              symbol,
              perThread,
              entryPoint.backend()));
    }
    rows.sort(Comparator.comparing(Row::name).thenComparing(Row::version));
    source.line("");
    source.line("const struct proc procTable[] = {");
    for (Row row : rows) {
      source.line(
          "  {\"%s\", %d, (void *)%s, (void *)%s, %b},",
          row.name(), row.version(), row.symbol(), row.perThread(), row.ofDriver());
    }
    source.line("};");
    CSource header = new CSource("proc_table.h");
    header.line("#include \"core/driver.h\"");
    header.line("");
    header.line("struct proc {");
    header.line("  const char *name;");
    header.line("  int version;");
    header.line("  void *legacy;     // NULL stream: the legacy default stream");
    header.line("  void *perThread;  // NULL stream: the calling thread's own");
    header.line("  bool ofDriver;    // the server's driver has to have it");
    header.line("};");
    header.line("");
    header.line("enum { PROC_COUNT = %d };", rows.size());
    header.line("extern const struct proc procTable[PROC_COUNT];");
    header.write(outputFolder);
    source.write(outputFolder);
  }
}
