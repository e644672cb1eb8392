// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import java.util.List;

/** Operations by which values pass between functions that are not inlined. */
public final class FrameOps {
  public static final String GET = "frame.get";
  public static final String PUT = "frame.put";

  /** Modifier for the frame of the function called next, or called last, instead of one's own. */
  public static final String CALLEE = "callee";

  private FrameOps() {}

  static Op get(Instruction source, Type type, VReg to, long offset, boolean callee) {
    return new Op(source, GET, modifiers(type, callee), List.of(to), List.of(number(offset)));
  }

  static Op put(Instruction source, Type type, long offset, Value value, boolean callee) {
    return new Op(source, PUT, modifiers(type, callee), List.of(), List.of(number(offset), value));
  }

  private static Value number(long offset) {
    return new Value.Int(offset);
  }

  private static List<String> modifiers(Type type, boolean callee) {
    return callee ? List.of(CALLEE, type.ptxName()) : List.of(type.ptxName());
  }
}
