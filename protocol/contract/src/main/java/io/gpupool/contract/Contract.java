// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.zip.CRC32;

/**
 * The whole description: types, entry points by topic, and the ops of the call stream.
 *
 * @param types by name
 * @param entryPoints in the order of the files
 * @param includes the shim's headers that the steps of a topic use, by topic
 * @param groups the fields of each group, by its name
 * @param ops in the order of their numbers
 * @param wire the parts of the call stream that are not ops
 */
public record Contract(
    Map<String, CudaType> types,
    List<EntryPoint> entryPoints,
    Map<String, List<String>> includes,
    Map<String, List<Field>> groups,
    List<Op> ops,
    Wire wire) {
  public Contract {
    types = Map.copyOf(types);
    includes = Map.copyOf(includes);
    groups = Map.copyOf(groups);
    entryPoints = List.copyOf(entryPoints);
    ops = List.copyOf(ops);
  }

  /** Reads the description in a folder. */
  public static Contract read(Path folder) throws IOException {
    return new ContractParser(folder).parse();
  }

  /** Returns the ops that are not one entry point, by topic, in the order of their numbers. */
  public Map<String, List<Op>> topics() {
    return ops.stream()
        .filter(op -> op.entryPoint() == null)
        .collect(
            Collectors.groupingBy(Op::topic, LinkedHashMap::new, Collectors.toUnmodifiableList()));
  }

  /**
   * Returns a digest of all ops' numbers, names and fields, and of the other parts of the call
   * stream. Both ends of a call stream must have the same.
   */
  public int digest() {
    CRC32 crc = new CRC32();
    for (Op op : ops) {
      String text = op.number() + op.name() + op.fenced() + op.fields() + "\n";
      crc.update(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
    }
    crc.update(
        (wire.numbers() + "\n" + wire.layouts()).getBytes(java.nio.charset.StandardCharsets.UTF_8));
    return (int) crc.getValue();
  }
}
