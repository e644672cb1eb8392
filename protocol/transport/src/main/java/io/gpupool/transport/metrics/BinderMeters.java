// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.metrics;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.config.MeterFilterReply;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A filter that brings the meters of Micrometer's own binders into Prometheus's conventions. */
final class BinderMeters implements MeterFilter {
  /** A unit that Prometheus does not use, a histogram's ending, and one name for several groups. */
  private static final Set<String> LEFT_OUT =
      Set.of("process.cpu.time", "system.cpu.count", "netty.eventexecutor.workers");

  private static final String GRPC = "grpc.";
  private static final Pattern CAPITAL = Pattern.compile("[A-Z]");
  private static final String ALLOCATOR_MEMORY = "netty.allocator.memory.used";
  private static final Map<String, String> DESCRIPTIONS =
      Map.of(
          ALLOCATOR_MEMORY,
          "Memory that Netty's buffers have of the system",
          "netty.eventexecutor.tasks.pending",
          "Tasks that an event loop has not run yet");

  @Override
  public MeterFilterReply accept(Meter.Id id) {
    return LEFT_OUT.contains(id.getName()) ? MeterFilterReply.DENY : MeterFilterReply.NEUTRAL;
  }

  @Override
  public Meter.Id map(Meter.Id id) {
    if (id.getName().startsWith(GRPC)) {
      return id.replaceTags(id.getTags().stream().map(BinderMeters::inSnakeCase).toList());
    }
    String description = DESCRIPTIONS.get(id.getName());
    if (description == null) {
      return id;
    }
    boolean isMemory = id.getName().equals(ALLOCATOR_MEMORY);
    // The allocator's id is another one in each process.
    List<Tag> tags = id.getTags().stream().filter(tag -> !tag.getKey().equals("id")).toList();
    return new Meter.Id(
        id.getName(), Tags.of(tags), isMemory ? "bytes" : null, description, id.getType());
  }

  private static Tag inSnakeCase(Tag tag) {
    Matcher capital = CAPITAL.matcher(tag.getKey());
    return Tag.of(
        capital.replaceAll(letter -> "_" + letter.group().toLowerCase(Locale.ROOT)),
        tag.getValue());
  }
}
