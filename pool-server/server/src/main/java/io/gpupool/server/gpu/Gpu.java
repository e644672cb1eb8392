// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.gpu;

import io.gpupool.server.select.Selection;
import io.gpupool.server.select.Selector;
import io.gpupool.wire.ByteSize;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A GPU as the inventory found it.
 *
 * @param server name of the server that has it
 * @param ordinal its number there, as the worker's backend counts
 * @param labels that the server's operator has given it
 * @param facts other facts from its backend
 */
public record Gpu(
    String server,
    int ordinal,
    String uuid,
    GpuModel model,
    Map<String, String> labels,
    GpuFacts facts)
    implements Selection.Properties {
  public Gpu {
    labels = Map.copyOf(labels);
  }

  /** Makes a GPU without labels and facts. */
  public Gpu(String server, int ordinal, String uuid, GpuModel model) {
    this(server, ordinal, uuid, model, Map.of(), GpuFacts.NONE);
  }

  public String name() {
    return model.name();
  }

  public long memoryBytes() {
    return model.memoryBytes();
  }

  public String computeCapability() {
    return model.computeCapability();
  }

  public int driverVersion() {
    return model.driverVersion();
  }

  /**
   * The same under another ordinal and UUID: those of the whole server, where it was asked alone.
   */
  public Gpu as(int otherOrdinal, String otherUuid) {
    return new Gpu(server, otherOrdinal, otherUuid, model, labels, facts);
  }

  public Gpu withLabels(Map<String, String> others) {
    return new Gpu(server, ordinal, uuid, model, others, facts);
  }

  /** Its labels as {@code NAME=VALUE}, in order. */
  public List<String> labelTexts() {
    return labels.entrySet().stream()
        .map(label -> label.getKey() + "=" + label.getValue())
        .sorted()
        .toList();
  }

  /** Whether it is part of a card that the card itself has divided (MIG). */
  public boolean isSlice() {
    return uuid.startsWith("MIG-");
  }

  public Share whole() {
    return new Share(memoryBytes(), Share.WHOLE_COMPUTE);
  }

  @Override
  public Optional<String> property(String key) {
    return switch (key) {
      case "model" -> Optional.of(name());
      case "server" -> Optional.of(server);
      case "gpu" -> Optional.of(Integer.toString(ordinal));
      case "uuid" -> Optional.of(uuid);
      case "cc" -> Optional.of(computeCapability());
      case "driver" -> Optional.of(driverVersion() / 1000 + "." + driverVersion() % 1000 / 10);
      default ->
          key.startsWith(Selector.LABEL)
              ? Optional.ofNullable(labels.get(key.substring(Selector.LABEL.length())))
              : Optional.empty();
    };
  }

  /** How messages name it. */
  public String label() {
    return "GPU " + ordinal + " of " + server;
  }

  public String describe() {
    return label()
        + ": "
        + name()
        + ", "
        + new ByteSize(memoryBytes())
        + ", cc "
        + computeCapability();
  }
}
