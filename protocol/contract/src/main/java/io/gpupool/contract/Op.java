// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One kind of request on the call stream.
 *
 * @param number the number in the frame's header
 * @param name its own name, or the symbol of its entry point
 * @param fenced whether it is answered
 * @param raw whether its layout is written by hand
 * @param fields its fields in order
 * @param entryPoint the entry point that is marshalled as it is; null of other ops
 * @param effect what lasts of it; null: nothing
 * @param topic the name of the worker's interface that executes it; of an entry point, its file
 */
public record Op(
    int number,
    String name,
    boolean fenced,
    boolean raw,
    List<Field> fields,
    @Nullable EntryPoint entryPoint,
    @Nullable Effect effect,
    String topic) {
  /** The length of a frame's header. */
  static final int HEADER_BYTES = 8;

  private static final int TAG_BYTES = 8;

  public Op {
    fields = List.copyOf(fields);
  }

  /** Returns the offset of the first field in a frame. */
  int firstSlot() {
    return HEADER_BYTES + (fenced ? TAG_BYTES : 0);
  }
}
