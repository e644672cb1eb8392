// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import java.util.Optional;

/** The types of elements, in the order of their numbers in {@code ncclDataType_t}. */
public enum ElementType {
  INT8(1),
  UINT8(1),
  INT32(4),
  UINT32(4),
  INT64(8),
  UINT64(8),
  FLOAT16(2),
  FLOAT32(4),
  FLOAT64(8),
  BFLOAT16(2),
  FLOAT8_E4M3(1),
  FLOAT8_E5M2(1);

  private static final ElementType[] ALL = values();

  private final int bytes;

  ElementType(int bytes) {
    this.bytes = bytes;
  }

  public int bytes() {
    return bytes;
  }

  static Optional<ElementType> of(int number) {
    return number >= 0 && number < ALL.length ? Optional.of(ALL[number]) : Optional.empty();
  }
}
