// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import io.netty.channel.Channel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The programs of this agent by their leases, so that each is told at once when its lease has
 * ended. Runs on the agent's event loop.
 */
public final class LeasePrograms {
  private final Map<AttachRequest.LeaseHandle, List<Consumer<String>>> programs = new HashMap<>();

  /**
   * Adds a program until its connection ends.
   *
   * @param onEnded takes the reason when the lease ends
   */
  public void add(AttachRequest.LeaseHandle lease, Channel program, Consumer<String> onEnded) {
    programs.computeIfAbsent(lease, none -> new ArrayList<>()).add(onEnded);
    program.closeFuture().addListener(closed -> remove(lease, onEnded));
  }

  private void remove(AttachRequest.LeaseHandle lease, Consumer<String> onEnded) {
    programs.computeIfPresent(
        lease,
        (key, listeners) -> {
          listeners.remove(onEnded);
          return listeners.isEmpty() ? null : listeners;
        });
  }

  /** Tells all programs of a lease that it has ended. */
  public void ended(AttachRequest.LeaseHandle lease, String reason) {
    List.copyOf(programs.getOrDefault(lease, List.of()))
        .forEach(program -> program.accept("the lease has ended: " + reason));
  }
}
