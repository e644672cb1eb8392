// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A writer of {@code steps_TOPIC.c}: the functions of entry points that the contract describes step
 * by step.
 */
final class ShimSteps {
  private final Contract contract;
  private final Map<String, EntryPoint> entryPoints;
  private final Map<String, Op> ops;

  ShimSteps(Contract contract) {
    this.contract = contract;
    entryPoints =
        contract.entryPoints().stream().collect(Collectors.toMap(EntryPoint::symbol, e -> e));
    ops = contract.ops().stream().collect(Collectors.toMap(Op::name, op -> op));
  }

  void emit(Path outputFolder) throws IOException {
    Map<String, CSource> topics = new TreeMap<>();
    for (EntryPoint entryPoint : contract.entryPoints()) {
      if (!entryPoint.body().steps().isEmpty()) {
        CSource source = topics.computeIfAbsent(entryPoint.topic(), this::topicSource);
        emitFunction(source, entryPoint);
      }
    }
    for (CSource source : topics.values()) {
      source.write(outputFolder);
    }
  }

  private CSource topicSource(String topic) {
    CSource source = new CSource("steps_" + topic.replace('-', '_') + ".c");
    for (String header : contract.includes().getOrDefault(topic, List.of())) {
      source.line("#include \"%s\"", header);
    }
    source.line("#include \"ops.h\"");
    source.line("#include \"shim.h\"");
    source.line("");
    source.line("#pragma GCC diagnostic ignored \"-Wunused-parameter\"");
    return source;
  }

  private void emitFunction(CSource source, EntryPoint entryPoint) {
    ShimEntry entry = new ShimEntry(entryPoint);
    source.line("");
    source.line("CUresult %s(%s) {", entry.worker(), entry.workerParameters());
    List<Step> steps = entryPoint.body().steps();
    boolean declared = false;
    boolean ended = false;
    for (Step step : steps) {
      if (ended) {
        throw new IllegalArgumentException(entryPoint.symbol() + ": steps after the last one");
      }
      boolean last = step.equals(steps.getLast());
      switch (step) {
        case Step.Need need ->
            source.line(
                "  if (%s) return %s;",
                String.join(" || ", need.conditions()), cName(need.result()));
        case Step.Find find -> declared |= emitFind(source, find, declared);
        case Step.Give give -> emitGive(source, entryPoint, give);
        case Step.Assign assign -> source.line("  %s = %s;", assign.place(), assign.value());
        case Step.Send send -> {
          ended = last;
          boolean dropped = !last && steps.getLast() instanceof Step.Drop;
          emitSend(source, send, last ? "  return %s;" : result(declared, "%s"));
          declared = true;
          if (!last && !dropped) {
            source.line("  if (result) return result;");
          }
        }
        case Step.Drop drop -> {
          ended = true;
          source.line(
              "  return arena_give(&%s, %s) ? result : CUDA_ERROR_INVALID_HANDLE;",
              drop.arena(), drop.variable());
        }
        case Step.Answer answer -> {
          ended = true;
          source.line("  return %s;", cName(answer.result()));
        }
        case Step.Call call -> {
          ended = call.use() == Step.Call.Use.CALL;
          declared |= emitCall(source, call, call(entry, call), declared);
        }
      }
    }
    if (!ended) {
      source.line("  return CUDA_SUCCESS;");
    }
    source.line("}");
  }

  private static String cName(String result) {
    return result.equals("SUCCESS") ? "CUDA_SUCCESS" : "CUDA_ERROR_" + result;
  }

  /** Returns a statement that keeps a result. */
  private static String result(boolean declared, String call) {
    return (declared ? "  result = " : "  CUresult result = ") + call + ";";
  }

  /** Writes a look-up; returns whether it declares the result. */
  private static boolean emitFind(CSource source, Step.Find find, boolean declared) {
    Finder finder = find.finder();
    String call = finder.call().replace("GIVEN", Objects.requireNonNullElse(find.given(), ""));
    String declaration = finder.variables().getFirst();
    String name = Finder.nameOf(declaration);
    String variable = Objects.requireNonNullElse(find.variable(), name);
    declaration = declaration.substring(0, declaration.length() - name.length()) + variable;
    if (finder.failure() != null) {
      source.line("  %s = %s;", declaration, call);
      source.line("  if (!%s) return %s;", variable, cName(finder.failure()));
      return false;
    }
    source.line("  %s;", declaration);
    for (String other : finder.variables().subList(1, finder.variables().size())) {
      source.line("  %s;", other);
    }
    source.line("%s", result(declared, call.replaceAll("&" + name + "\\b", "&" + variable)));
    source.line("  if (result) return result;");
    return true;
  }

  private void emitGive(CSource source, EntryPoint entryPoint, Step.Give give) {
    Parameter parameter =
        entryPoint.parameters().stream()
            .filter(p -> p.name().equals(give.parameter()))
            .findFirst()
            .orElseThrow();
    CudaType type = contract.types().get(parameter.baseType());
    String value = give.value();
    if (type != null && type.kind() == CudaType.Kind.HANDLE) {
      String operand = value.matches("[\\w>.-]+") ? value : "(" + value + ")";
      value = "(" + type.name() + ")(void *)" + operand;
    }
    String condition = give.optional() ? "if (" + give.parameter() + ") " : "";
    source.line("  %s*%s = %s;", condition, give.parameter(), value);
  }

  private void emitSend(CSource source, Step.Send send, String statement) {
    Op op = ops.get(send.op());
    if (op == null) {
      throw new IllegalArgumentException("no op " + send.op());
    }
    StringBuilder arguments = new StringBuilder(send.context()).append("->number");
    for (String argument : send.arguments()) {
      String output = argument.startsWith("out ") ? argument.substring("out ".length()) : null;
      arguments.append(", ").append(output == null ? argument : "(uint64_t *)" + output);
    }
    source.line(
        statement, "context_result(%s, op_%s(%s))".formatted(send.context(), op.name(), arguments));
  }

  /** Writes a call; returns whether it declares the result. */
  private static boolean emitCall(CSource source, Step.Call call, String text, boolean declared) {
    switch (call.use()) {
      case CALL -> source.line("  return %s;", text);
      case RUN -> source.line("  %s;", text);
      case DO -> {
        source.line("%s", result(declared, text));
        source.line("  if (result) return result;");
      }
    }
    return call.use() == Step.Call.Use.DO;
  }

  private String call(ShimEntry entry, Step.Call call) {
    if (!call.isEntryPoint()) {
      return "%s(%s)".formatted(call.function(), String.join(", ", call.arguments()));
    }
    EntryPoint target = entryPoints.get(call.function());
    if (target == null || target.parameters().size() != call.arguments().size()) {
      throw new IllegalArgumentException(
          entry.entryPoint().symbol() + ": not the arguments of " + call.function());
    }
    ShimEntry other = new ShimEntry(target);
    String stream = entry.impliesStream() ? "implied" : "CU_STREAM_LEGACY";
    String arguments = String.join(", ", call.arguments());
    return "%s(%s)"
        .formatted(other.worker(), other.impliesStream() ? arguments + ", " + stream : arguments);
  }
}
