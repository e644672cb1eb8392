// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.List;

/**
 * A module-scope variable.
 *
 * @param space {@link Space#GLOBAL} or {@link Space#CONST}
 * @param initializer first bytes of its initial value, little endian; the rest is zero
 * @param linkage who else may define or name it
 * @param kind whether programs read it as data, or bind something to it
 */
public record GlobalVariable(
    String name,
    Space space,
    long sizeBytes,
    int alignBytes,
    byte[] initializer,
    List<Relocation> relocations,
    Linkage linkage,
    VariableKind kind) {
  /** Declared here ({@code .extern}) but defined in another module. */
  public boolean external() {
    return linkage == Linkage.EXTERN;
  }
}
