// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A writer of {@code entries.h} and {@code entries.c}: a number for each exported symbol, and the
 * symbol's name and class by number, for logs and counts.
 */
final class ShimEntries {
  private final Contract contract;

  ShimEntries(Contract contract) {
    this.contract = contract;
  }

  /** Returns the C name of a symbol's number. */
  static String number(String symbol) {
    return "ENTRY_" + symbol;
  }

  void emit(Path outputFolder) throws IOException {
    List<String> numbers = new ArrayList<>();
    CSource source = new CSource("entries.c");
    source.line("#include \"entries.h\"");
    source.line("");
    source.line("const char *const classNames[CLASS_COUNT] = {");
    for (CallClass callClass : CallClass.values()) {
      source.line("  \"%s\",", callClass.name().toLowerCase(Locale.ROOT));
    }
    source.line("};");
    source.line("");
    source.line("const struct entry entryTable[ENTRY_COUNT] = {");
    for (EntryPoint entryPoint : contract.entryPoints()) {
      for (String symbol : new ShimEntry(entryPoint).symbols()) {
        numbers.add(number(symbol));
        source.line("  {\"%s\", CLASS_%s},", symbol, entryPoint.callClass());
      }
    }
    source.line("};");
    source.write(outputFolder);
    header(numbers).write(outputFolder);
  }

  private static CSource header(List<String> numbers) {
    CSource header = new CSource("entries.h");
    header.line("");
    header.line("enum call_class {");
    for (CallClass callClass : CallClass.values()) {
      header.line("  CLASS_%s,", callClass);
    }
    header.line("  CLASS_COUNT,");
    header.line("};");
    header.line("");
    header.line("enum entry_number {");
    for (String number : numbers) {
      header.line("  %s,", number);
    }
    header.line("  ENTRY_COUNT,");
    header.line("};");
    header.line("");
    header.line("struct entry {");
    header.line("  const char *symbol;");
    header.line("  int callClass;  // enum call_class");
    header.line("};");
    header.line("");
    header.line("extern const char *const classNames[CLASS_COUNT];");
    header.line("extern const struct entry entryTable[ENTRY_COUNT];");
    return header;
  }
}
