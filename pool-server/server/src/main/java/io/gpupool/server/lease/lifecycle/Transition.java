// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.server.lease.model.GraceReason;
import io.gpupool.server.lease.model.LeaseState.Phase;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A row of the table of transitions.
 *
 * @param when facts that must hold
 * @param unless facts that must not hold
 * @param grace the reason of the grace period, if {@code to} is one that starts now
 */
record Transition(
    Phase from,
    LeaseEvent on,
    Set<LeaseFact> when,
    Set<LeaseFact> unless,
    Phase to,
    @Nullable GraceReason grace,
    List<LeaseEffect> effects) {

  static Transition from(Phase from, LeaseEvent on) {
    return new Transition(from, on, Set.of(), Set.of(), from, null, List.of());
  }

  Transition when(LeaseFact... facts) {
    return new Transition(from, on, Set.of(facts), unless, to, grace, effects);
  }

  Transition unless(LeaseFact... facts) {
    return new Transition(from, on, when, Set.of(facts), to, grace, effects);
  }

  Transition to(Phase other, LeaseEffect... runs) {
    return new Transition(from, on, when, unless, other, null, List.of(runs));
  }

  Transition toGrace(GraceReason reason) {
    return new Transition(
        from, on, when, unless, Phase.GRACE, reason, List.of(LeaseEffect.START_GRACE));
  }

  boolean applies(Set<LeaseFact> facts) {
    return facts.containsAll(when) && unless.stream().noneMatch(facts::contains);
  }
}
