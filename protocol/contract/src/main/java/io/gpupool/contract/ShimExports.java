// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * A writer of the exported entry points, one C file per topic. Each entry point checks that there
 * is a session, traces if asked to, and calls its implementation ({@code shim.h}); refused ones say
 * so. It also writes their prototypes and the linker's version script.
 */
final class ShimExports {
  /** The entry points that CUDA answers before {@code cuInit}. */
  private static final Set<String> BEFORE_INIT =
      Set.of(
          "cuInit",
          "cuDriverGetVersion",
          "cuGetErrorName",
          "cuGetErrorString",
          "cuGetProcAddress",
          "cuGetProcAddress_v2",
          "cuGetExportTable");

  private final Contract contract;

  ShimExports(Contract contract) {
    this.contract = contract;
  }

  void emit(Path outputFolder) throws IOException {
    CSource prototypes = new CSource("shim.h");
    prototypes.line("#include \"core/driver.h\"");
    prototypes.line("");
    CSource exports = new CSource("exports.h");
    exports.line("#include \"core/driver.h\"");
    exports.line("");
    CSource map = new CSource("libcuda.map");
    map.line("{");
    map.line("  global:");
    Map<String, CSource> topics = new LinkedHashMap<>();
    for (EntryPoint entryPoint : contract.entryPoints()) {
      ShimEntry entry = new ShimEntry(entryPoint);
      if (entryPoint.callClass() != CallClass.REFUSED) {
        prototypes.line("CUresult %s(%s);", entry.worker(), entry.workerParameters());
      }
      CSource source = topics.computeIfAbsent(entryPoint.topic(), ShimExports::topicSource);
      for (String symbol : entry.symbols()) {
        map.line("    %s;", symbol);
        exports.line("CUresult %s(%s);", symbol, entry.parameters());
        emitExport(source, entry, symbol);
      }
    }
    map.line("  local:");
    map.line("    *;");
    map.line("};");
    prototypes.write(outputFolder);
    exports.write(outputFolder);
    map.write(outputFolder);
    for (CSource source : topics.values()) {
      source.write(outputFolder);
    }
  }

  private static CSource topicSource(String topic) {
    CSource source = new CSource("exports_" + topic.replace('-', '_') + ".c");
    source.line("#include \"entry/export.h\"");
    source.line("#include \"exports.h\"");
    source.line("#include \"shim.h\"");
    source.line("");
    source.line("#pragma GCC diagnostic ignored \"-Wunused-parameter\"");
    return source;
  }

  private static void emitExport(CSource source, ShimEntry entry, String symbol) {
    EntryPoint entryPoint = entry.entryPoint();
    source.line("");
    source.line("EXPORT CUresult %s(%s) {", symbol, entry.parameters());
    if (entryPoint.callClass() == CallClass.REFUSED) {
      source.line("  static _Atomic int warned;");
      source.line(
          "  return refused(%s, \"%s\", &warned);",
          ShimEntries.number(symbol), entryPoint.reason().orElseThrow());
      source.line("}");
      return;
    }
    if (!BEFORE_INIT.contains(symbol)) {
      source.line("  if (UNLIKELY(!session_ready())) return session_answer();");
    }
    boolean perThread = !symbol.equals(entryPoint.symbol());
    source.line("  struct scope scope = scope_enter();");
    source.line("  CUresult status = %s(%s);", entry.worker(), entry.arguments(perThread));
    source.line("  scope_leave(&scope, %s, status);", ShimEntries.number(symbol));
    source.line("  return status;");
    source.line("}");
  }
}
