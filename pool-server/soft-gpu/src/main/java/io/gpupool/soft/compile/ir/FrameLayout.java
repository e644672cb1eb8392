// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.ir;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Function.Formal;
import java.util.ArrayList;
import java.util.List;

/**
 * The layout of the parameters and results in the frame of a function that is not inlined, behind
 * its registers.
 */
public record FrameLayout(List<Integer> params, List<Integer> results, int bytes) {
  public static FrameLayout of(Function function) {
    List<Integer> params = new ArrayList<>();
    List<Integer> results = new ArrayList<>();
    long used = place(function.params(), 0, params);
    used = place(function.results(), used, results);
    if (used > MAX_BYTES) {
      throw new RefusedException("function " + function.name() + " passes too many bytes");
    }
    return new FrameLayout(params, results, (int) -(-used & -8));
  }

  private static final int MAX_BYTES = 32 << 10;

  private static long place(List<Formal> formals, long start, List<Integer> offsets) {
    long used = start;
    for (Formal formal : formals) {
      // Eight bytes suit every piece that is moved at once.
      used = -(-used & -8);
      offsets.add((int) Math.min(used, MAX_BYTES));
      used +=
          switch (formal) {
            case Formal.InMemory(var variable) -> variable.sizeBytes();
            case Formal.InRegister(var register) -> register.type().bytes();
          };
    }
    return used;
  }
}
