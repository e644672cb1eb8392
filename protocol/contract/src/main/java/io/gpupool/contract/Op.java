// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;
import java.util.Optional;

/**
 * One kind of request on the call stream.
 *
 * @param number the number in the frame's header
 * @param name its own name, or the symbol of its entry point
 * @param fenced whether it is answered
 * @param raw whether its layout is written by hand
 * @param fields its fields in order
 * @param entryPoint the entry point that is marshalled as it is, if it is one of those
 * @param topic the name of the worker's interface that executes it; of an entry point, its file
 */
public record Op(
    int number,
    String name,
    boolean fenced,
    boolean raw,
    List<Field> fields,
    Optional<EntryPoint> entryPoint,
    String topic) {
  public Op {
    fields = List.copyOf(fields);
  }
}
