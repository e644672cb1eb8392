// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Cases with the same arguments run in one kernel, one thread for each tuple of arguments. */
final class InstructionRun {
  static final int THREADS = 128;

  /** Bytes of each thread in each space of memory. */
  static final int SCRATCH_BYTES = 64;

  private static final int MOST_CASES = 32;

  private InstructionRun() {}

  /** Runs cases; returns what is wrong with each that went wrong. */
  static List<String> run(List<Case> cases) {
    List<String> failures = new ArrayList<>();
    List<Case> rest = new ArrayList<>(cases);
    while (!rest.isEmpty()) {
      Case first = rest.getFirst();
      List<Case> batch =
          rest.stream()
              .filter(other ->
                  other.arguments().equals(first.arguments()) && other.tuples() == first.tuples())
              .limit(MOST_CASES)
              .toList();
      rest.removeAll(batch);
      try {
        runTogether(batch, failures);
      } catch (Exception e) {
        alone(batch, e, failures);
      }
    }
    return failures;
  }

  private static void alone(List<Case> batch, Exception cause, List<String> failures) {
    if (batch.size() == 1) {
      failures.add(batch.getFirst().name() + ": " + cause);
      return;
    }
    for (Case one : batch) {
      try {
        runTogether(List.of(one), failures);
      } catch (Exception e) {
        alone(List.of(one), e, failures);
      }
    }
  }

  private static void runTogether(List<Case> cases, List<String> failures) throws Exception {
    List<long[]> tuples = cases.getFirst().tuples();
    int width = cases.getFirst().arguments().size();
    int results = cases.stream().mapToInt(one -> one.results().size()).sum();
    int n = tuples.size();
    int blocks = (n + THREADS - 1) / THREADS;
    long threads = (long) blocks * THREADS;
    long bytes = 8L * n * (width + results) + threads * SCRATCH_BYTES + (1 << 16);
    try (TestGpu gpu = TestGpu.withPtx(ptx(cases), -(-bytes & -(1 << 16)))) {
      MemorySegment in = gpu.allocate(8L * n * Math.max(width, 1));
      MemorySegment out = gpu.allocate(8L * n * results);
      MemorySegment scratch = gpu.allocate(threads * SCRATCH_BYTES);
      for (int i = 0; i < n; i++) {
        MemorySegment.copy(tuples.get(i), 0, in, ValueLayout.JAVA_LONG, 8L * i * width, width);
      }
      Launch launch = TestGpu.blocks(blocks, THREADS);
      gpu.run("kernel", launch, in, out, scratch, n, constants());
      int from = 0;
      for (Case one : cases) {
        int count = one.results().size();
        long[][] found = new long[n][count];
        for (int i = 0; i < n; i++) {
          for (int j = 0; j < count; j++) {
            long at = (long) i * results + from + j;
            found[i][j] = out.getAtIndex(ValueLayout.JAVA_LONG, at);
          }
        }
        from += count;
        String wrong = one.judge().wrong(tuples, found);
        if (wrong != null) {
          failures.add(one.name() + ": " + wrong);
        }
      }
    }
  }

  /** What constant memory and the parameter {@code bytes} hold: each byte its own place times 3. */
  static byte[] constants() {
    byte[] bytes = new byte[SCRATCH_BYTES];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (3 * i + 1);
    }
    return bytes;
  }

  private static String ptx(List<Case> cases) {
    StringBuilder body = new StringBuilder();
    List<Type> arguments = cases.getFirst().arguments();
    for (int i = 0; i < arguments.size(); i++) {
      Type type = arguments.get(i);
      body.append("  .reg .%s %%a%d;\n".formatted(register(type), i));
      body.append("  ld.global.%s %%a%d, [%%in+%d];\n".formatted(register(type), i, 8 * i));
    }
    int results = cases.stream().mapToInt(one -> one.results().size()).sum();
    int at = 0;
    for (Case one : cases) {
      body.append("  {\n");
      for (int i = 0; i < one.results().size(); i++) {
        body.append("  .reg .%s %%x%d;\n".formatted(register(one.results().get(i)), i));
      }
      body.append("  ").append(one.body()).append('\n');
      for (int i = 0; i < one.results().size(); i++) {
        Type type = one.results().get(i);
        String value = "%x" + i;
        if (type == Type.PRED) {
          body.append("  .reg .b32 %%y%d;\n  selp.b32 %%y%d, 1, 0, %%x%d;\n".formatted(i, i, i));
          value = "%y" + i;
        }
        String moved = type == Type.PRED ? "b32" : register(type);
        body.append("  st.global.%s [%%out+%d], %s;\n".formatted(moved, 8 * at, value));
        at++;
      }
      body.append("  }\n");
    }
    List<String> constants = new ArrayList<>();
    for (byte value : constants()) {
      constants.add(String.valueOf(value & 255));
    }
    return """
    .version 9.0
    .target sm_90
    .address_size 64
    .const .align 64 .b8 constants[64] = {%s};
    .shared .align 64 .b8 shared[%d];
    .visible .entry kernel(.param .u64 in, .param .u64 out, .param .u64 scratch,
        .param .u32 n, .param .align 16 .b8 bytes[64])
    {
      .reg .pred %%p;
      .reg .b32 %%i, %%n, %%t;
      .reg .b64 %%in, %%out, %%w, %%g, %%s, %%l;
      .local .align 64 .b8 local[64];
      mov.u32 %%i, %%ctaid.x;
      mov.u32 %%n, %%ntid.x;
      mov.u32 %%t, %%tid.x;
      mad.lo.s32 %%i, %%i, %%n, %%t;
      ld.param.u32 %%n, [n];
      setp.ge.u32 %%p, %%i, %%n;
      @%%p bra END;
      ld.param.u64 %%in, [in];
      mul.wide.u32 %%w, %%i, %d;
      add.s64 %%in, %%in, %%w;
      ld.param.u64 %%out, [out];
      mul.wide.u32 %%w, %%i, %d;
      add.s64 %%out, %%out, %%w;
      ld.param.u64 %%g, [scratch];
      mul.wide.u32 %%w, %%i, 64;
      add.s64 %%g, %%g, %%w;
      mov.u64 %%s, shared;
      mul.wide.u32 %%w, %%t, 64;
      add.s64 %%s, %%s, %%w;
      mov.u64 %%l, local;
    %sEND:
      ret;
    }
    """
        .formatted(
            String.join(",", constants),
            THREADS * SCRATCH_BYTES,
            8 * arguments.size(),
            8 * results,
            body);
  }

  /** The type of a register, and of the access that fills it; below 16 bits there are none. */
  private static String register(Type type) {
    return switch (type.bits()) {
      case 1 -> "pred";
      case 8 -> "b16";
      default -> type == Type.F32 || type == Type.F64 ? type.ptxName() : "b" + type.bits();
    };
  }
}
