// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The samples of one GPU, as many as its windows have room for. Owned by the control thread. */
final class GpuSamples {
  private final Map<Window, Deque<Sample>> kept = new EnumMap<>(Window.class);

  GpuSamples() {
    for (Window window : Window.values()) {
      kept.put(window, new ArrayDeque<>());
    }
  }

  /** Takes in what was kept before, and goes on with it. */
  GpuSamples(Collection<Sample> hour, Collection<Sample> day) {
    this();
    hour.forEach(sample -> keep(Window.hour, sample));
    day.forEach(sample -> keep(Window.day, sample));
    sumUp();
  }

  /** Adds ten seconds; every five minutes they become a sample of the day. */
  void add(Sample sample) {
    keep(Window.hour, sample);
    if (unsummed().stream().mapToLong(Sample::millis).sum() >= Window.day.sampleMillis()) {
      sumUp();
    }
  }

  private void sumUp() {
    List<Sample> rest = unsummed();
    if (!rest.isEmpty()) {
      keep(Window.day, Sample.merged(rest));
    }
  }

  /** Those that are in no sample of the day yet. */
  private List<Sample> unsummed() {
    Sample last = samples(Window.day).peekLast();
    return samples(Window.hour).stream()
        .filter(sample -> last == null || sample.atMillis() > last.atMillis())
        .toList();
  }

  private Deque<Sample> samples(Window window) {
    return Objects.requireNonNull(kept.get(window));
  }

  private void keep(Window window, Sample sample) {
    Deque<Sample> samples = samples(window);
    samples.addLast(sample);
    // Whoever sets the clock back has what was yet to come forgotten.
    samples.removeIf(old -> !isWithin(window, old, sample.atMillis()));
    while (samples.size() > window.maxSamples()) {
      samples.removeFirst();
    }
  }

  private static boolean isWithin(Window window, Sample sample, long nowMillis) {
    return sample.atMillis() <= nowMillis && sample.atMillis() > nowMillis - window.millis();
  }

  /** Those of a window as of now, the oldest first. */
  List<Sample> in(Window window, long nowMillis) {
    return samples(window).stream().filter(sample -> isWithin(window, sample, nowMillis)).toList();
  }

  /** All that are kept, as they are now. */
  Map<Window, List<Sample>> all() {
    Map<Window, List<Sample>> all = new EnumMap<>(Window.class);
    kept.forEach((window, samples) -> all.put(window, List.copyOf(samples)));
    return all;
  }
}
