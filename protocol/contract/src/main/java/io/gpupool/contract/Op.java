// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;
import java.util.Optional;

/**
 * One kind of request on the call stream.
 *
 * @param number what stands in the frame's header
 * @param name its name: of its own, or the symbol of its entry point
 * @param fenced whether it is answered
 * @param raw whether its layout is written by hand
 * @param fields its fields in order
 * @param entryPoint the entry point that is marshalled as it is, if it is one of those
 * @param topic who executes it in the worker: the interface of that name; of an entry point, its
 *     file
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
