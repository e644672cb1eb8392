// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.VariableKind;
import java.util.List;

/**
 * The part of a variable declaration after the state space.
 *
 * @param type {@link Type#U64} unless it is data
 * @param vector elements of {@code .v2}, {@code .v4}, else 1
 * @param dimensions array lengths, outermost first; 0 for an unstated length
 * @param rangeCount for {@code name<count>}, else -1
 */
record Declaration(
    Token name,
    Type type,
    VariableKind kind,
    int vector,
    int alignBytes,
    List<Long> dimensions,
    long rangeCount) {

  long elementBytes() {
    return (long) type.bytes() * vector;
  }

  long sizeBytes() throws PtxException {
    long size = elementBytes();
    for (long dimension : dimensions) {
      if (dimension != 0 && size > MAX_BYTES / dimension) {
        throw Tokens.error(name, "Variable '" + name.text() + "' is too large");
      }
      size *= dimension;
    }
    return size;
  }

  private static final long MAX_BYTES = 1L << 40;
}
