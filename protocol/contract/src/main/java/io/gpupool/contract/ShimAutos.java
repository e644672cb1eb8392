// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * A writer of {@code autos.c}: the entry points that are marshalled as they are. Handles become the
 * client's numbers; a bad handle is refused at once.
 */
final class ShimAutos {
  /**
   * Entry points with more in the shim: {@code check_NAME} checks their arguments, {@code
   * capture_NAME} gives them to a capturing stream, and {@code routed_NAME} sends them to their
   * memory's server when there are several.
   */
  private static final Set<String> CHECKED =
      Set.of(
          "cuMemcpyDtoDAsync_v2",
          "cuMemsetD8Async",
          "cuMemsetD16Async",
          "cuMemsetD32Async",
          "cuMemsetD2D8Async",
          "cuMemsetD2D16Async",
          "cuMemsetD2D32Async");

  private final Contract contract;

  ShimAutos(Contract contract) {
    this.contract = contract;
  }

  void emit(Path outputFolder) throws IOException {
    CSource source = new CSource("autos.c");
    source.line("#include \"context/context.h\"");
    source.line("#include \"memory/memory_pool.h\"");
    source.line("#include \"memory/memset_checks.h\"");
    source.line("#include \"module/function.h\"");
    source.line("#include \"ops.h\"");
    source.line("#include \"shim.h\"");
    source.line("#include \"stream/event.h\"");
    source.line("#include \"stream/settle.h\"");
    source.line("#include \"stream/stream.h\"");
    for (EntryPoint entryPoint : contract.entryPoints()) {
      if (entryPoint.isOp()) {
        emitAuto(source, entryPoint);
      }
    }
    source.write(outputFolder);
  }

  private void emitAuto(CSource source, EntryPoint entryPoint) {
    ShimEntry entry = new ShimEntry(entryPoint);
    Op op =
        contract.ops().stream()
            .filter(o -> entryPoint.equals(o.entryPoint()))
            .findFirst()
            .orElseThrow();
    source.line("");
    source.line("CUresult %s(%s) {", entry.worker(), entry.workerParameters());
    List<String> arguments = new ArrayList<>();
    List<String> resolutions = new ArrayList<>();
    for (int i = 0; i < op.fields().size(); i++) {
      Field field = op.fields().get(i);
      Parameter parameter = entryPoint.parameters().get(i);
      String name = parameter.name();
      if (field.role() == Field.Role.OUT) {
        source.line("  if (!%s) return CUDA_ERROR_INVALID_VALUE;", name);
        arguments.add(parameter.baseType().equals("size_t") ? "(uint64_t *)" + name : name);
      } else if (field.type().isHandle()) {
        String kind = field.type().name().toLowerCase(java.util.Locale.ROOT);
        source.line("  uint32_t number_%s;", name);
        resolutions.add(
            "  if ((result = %s_number(%s, &context, &number_%s))) return result;"
                .formatted(kind, name, name));
        arguments.add("number_" + name);
      } else {
        arguments.add(parameter.isPointer() ? "*" + name : name);
      }
    }
    if (CHECKED.contains(entryPoint.symbol())) {
      source.line("  struct stream *capturing = capture_stream(hStream);");
      source.line("  if (UNLIKELY(capturing != NULL)) {");
      source.line(
          "    return capture_%s(capturing, %s);", entryPoint.symbol(), entry.arguments(false));
      source.line("  }");
    }
    source.line("  struct context *context;");
    source.line("  CUresult result = context_or_none(&context);");
    source.line("  if (result) return result;");
    resolutions.forEach(source::line);
    source.line("  if (!context) return CUDA_ERROR_INVALID_CONTEXT;");
    if (CHECKED.contains(entryPoint.symbol())) {
      source.line(
          "  if ((result = check_%s(%s))) return result;",
          entryPoint.symbol(), entry.arguments(false));
      source.line("  if (connections_several()) {");
      source.line(
          "    return context_result(context, routed_%s(context, number_hStream, %s));",
          entryPoint.symbol(), entry.arguments(false));
      source.line("  }");
    }
    source.line(
        "  return context_result(context, op_%s(context->number, %s));",
        op.name(), String.join(", ", arguments));
    source.line("}");
  }
}
