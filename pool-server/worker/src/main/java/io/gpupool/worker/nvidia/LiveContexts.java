// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;

/** The contexts that there are, green ones apart. Any thread may use it. */
final class LiveContexts {
  @GuardedBy("this")
  private final Map<Long, Integer> gpus = new LinkedHashMap<>();

  @GuardedBy("this")
  private final Map<Integer, Primary> primaries = new HashMap<>();

  private static final class Primary {
    final long context;
    int retains;

    Primary(long context) {
      this.context = context;
    }
  }

  synchronized void created(long context, int gpu) {
    gpus.put(context, gpu);
  }

  synchronized void retained(long context, int gpu) {
    primaries.computeIfAbsent(gpu, absent -> new Primary(context)).retains++;
    gpus.put(context, gpu);
  }

  synchronized void ended(long context) {
    gpus.remove(context);
  }

  /** The primary context of a GPU is released; returns it if that is its end. */
  synchronized OptionalLong release(int gpu) {
    Primary primary = primaries.get(gpu);
    if (primary == null || --primary.retains > 0) {
      return OptionalLong.empty();
    }
    primaries.remove(gpu);
    gpus.remove(primary.context);
    return OptionalLong.of(primary.context);
  }

  /** The primary context of a GPU, if it is retained. */
  synchronized OptionalLong primary(int gpu) {
    Primary primary = primaries.get(gpu);
    return primary == null ? OptionalLong.empty() : OptionalLong.of(primary.context);
  }

  /** Any context of a GPU. */
  synchronized OptionalLong any(int gpu) {
    return gpus.entrySet().stream()
        .filter(entry -> entry.getValue() == gpu)
        .mapToLong(Map.Entry::getKey)
        .findFirst();
  }

  /**
   * The context that memory ends with which is allocated in one: itself, or that of a green one.
   */
  synchronized long home(long context, int gpu) {
    Primary primary = primaries.get(gpu);
    return gpus.containsKey(context) || primary == null ? context : primary.context;
  }
}
