// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.exec.Launch;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** One instruction run by one thread for each tuple of arguments. */
final class InstructionRun {
  private static final int THREADS = 128;

  private InstructionRun() {}

  /**
   * Runs an instruction.
   *
   * @param instruction opcode and modifiers; or all of it, with operands %x, %a0, %a1 and so on
   * @param result type of the register that the result goes to; PRED gives 0 or 1
   * @param args types of the arguments' registers
   * @param tuples the arguments' bits
   * @param suffix what follows the arguments: more operands, beginning with a comma, or nothing
   * @return bits of each result
   */
  static long[] of(
      String instruction, Type result, List<Type> args, List<long[]> tuples, String suffix)
      throws Exception {
    StringBuilder body = new StringBuilder();
    List<String> names = new ArrayList<>();
    for (int i = 0; i < args.size(); i++) {
      body.append("  .reg .%s %%a%d;\n".formatted(register(args.get(i)), i));
      body.append("  ld.global.%s %%a%d, [%%in+%d];\n".formatted(moved(args.get(i)), i, 8 * i));
      names.add("%a" + i);
    }
    body.append("  .reg .%s %%x;\n".formatted(register(result)));
    body.append(
        instruction.contains("%x")
            ? "  " + instruction + ";\n"
            : "  %s %%x, %s%s;\n".formatted(instruction, String.join(", ", names), suffix));
    if (result == Type.PRED) {
      body.append("  .reg .b32 %y;\n  selp.b32 %y, 1, 0, %x;\n  st.global.b32 [%out], %y;\n");
    } else {
      body.append("  st.global.%s [%%out], %%x;\n".formatted(moved(result)));
    }
    String ptx =
        """
        .version 8.6
        .target sm_90
        .address_size 64
        .visible .entry kernel(.param .u64 in, .param .u64 out, .param .u32 n)
        {
          .reg .pred %%p;
          .reg .b32 %%i, %%n, %%t;
          .reg .b64 %%in, %%out, %%w;
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
          mul.wide.u32 %%w, %%i, 8;
          add.s64 %%out, %%out, %%w;
        %sEND:
          ret;
        }
        """
            .formatted(8 * args.size(), body);
    try (TestGpu gpu = TestGpu.withPtx(ptx)) {
      int n = tuples.size();
      MemorySegment in = gpu.allocate(8L * n * args.size());
      MemorySegment out = gpu.allocate(8L * n);
      for (int i = 0; i < n; i++) {
        MemorySegment.copy(
            tuples.get(i), 0, in, ValueLayout.JAVA_LONG, 8L * i * args.size(), args.size());
      }
      Launch launch = TestGpu.blocks((n + THREADS - 1) / THREADS, THREADS);
      gpu.run("kernel", launch, in, out, n);
      return out.toArray(ValueLayout.JAVA_LONG);
    }
  }

  /** Registers below 16 bits do not exist. */
  private static String register(Type type) {
    return switch (type.bits()) {
      case 1 -> "pred";
      case 8 -> "b16";
      default -> type == Type.F32 || type == Type.F64 ? type.ptxName() : "b" + type.bits();
    };
  }

  private static String moved(Type type) {
    return type == Type.F32 || type == Type.F64 ? type.ptxName() : "b" + type.bits();
  }
}
