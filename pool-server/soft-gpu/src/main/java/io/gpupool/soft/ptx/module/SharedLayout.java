// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.module;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Variable;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * The layout of a kernel's shared variables in its block's shared memory: those it and the
 * functions it may call name, then the one dynamic array that all {@code .extern .shared} variables
 * share.
 *
 * @param offsets byte offset of each variable
 * @param staticBytes length of the static part; the dynamic array starts here
 */
public record SharedLayout(Map<Variable, Integer> offsets, int staticBytes) {
  static SharedLayout of(Function kernel, PtxModule module) throws PtxException {
    Map<Variable, Integer> offsets = new LinkedHashMap<>();
    Set<Variable> dynamic = new HashSet<>();
    long used = 0;
    int dynamicAlign = 16;
    for (Variable variable : sharedVariables(kernel, module)) {
      if (variable.external() || variable.sizeBytes() == 0) {
        dynamic.add(variable);
        dynamicAlign = Math.max(dynamicAlign, variable.alignBytes());
        continue;
      }
      used = -(-used & -variable.alignBytes());
      offsets.put(variable, (int) used);
      used += variable.sizeBytes();
      if (used > MAX_BYTES) {
        throw new PtxException(
            kernel.line(), 1, "Kernel '" + kernel.name() + "' uses too much shared data");
      }
    }
    if (!dynamic.isEmpty()) {
      used = -(-used & -dynamicAlign);
      for (Variable variable : dynamic) {
        offsets.put(variable, (int) used);
      }
    }
    return new SharedLayout(Collections.unmodifiableMap(offsets), (int) used);
  }

  private static final long MAX_BYTES = 1 << 24;

  private static Set<Variable> sharedVariables(Function kernel, PtxModule module) {
    References references = new References();
    for (Function function : module.reachableFrom(kernel)) {
      function.locals().stream()
          .filter(local -> local.space() == Space.SHARED)
          .forEach(references.variables()::add);
      references.addAll(function);
    }
    references.variables().removeIf(variable -> variable.space() != Space.SHARED);
    return references.variables();
  }
}
