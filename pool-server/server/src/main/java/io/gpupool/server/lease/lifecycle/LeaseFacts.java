// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.server.capacity.Members;
import io.gpupool.server.lease.store.LeaseStore;
import java.util.EnumSet;
import java.util.Set;

/** A reader of the facts that decide what follows from an event. Used by the control thread. */
record LeaseFacts(LeaseStore store, Members members) {
  Set<LeaseFact> of(Lease lease) {
    Set<LeaseFact> facts = EnumSet.noneOf(LeaseFact.class);
    boolean isHome = lease.topology().isHome();
    boolean isRecordedHere = store.isHolderHere(lease.id(), "");
    add(facts, LeaseFact.HELD_HERE, lease.isHeldHere());
    add(facts, LeaseFact.HELD_ELSEWHERE, isHeldElsewhere(lease));
    add(facts, LeaseFact.RECORDED_HERE, isRecordedHere);
    add(facts, LeaseFact.ANSWERS_FOR_HOLDER, isHome || lease.isRemote() || isRecordedHere);
    add(facts, LeaseFact.REMOTE, lease.isRemote());
    add(facts, LeaseFact.HOME, isHome);
    add(facts, LeaseFact.HOME_ALIVE, members.lives(lease.topology().home()));
    add(facts, LeaseFact.RENEWABLE, lease.isRenewable());
    add(
        facts,
        LeaseFact.IN_USE,
        !lease.sessions().isEmpty() || store.suspensions().isSuspended(lease.id()));
    return facts;
  }

  private boolean isHeldElsewhere(Lease lease) {
    if (members.isAlone()) {
      return false;
    }
    String at = store.holderServer(lease.id(), lease.topology().home());
    return !at.equals(store.server()) && members.lives(at);
  }

  private static void add(Set<LeaseFact> facts, LeaseFact fact, boolean holds) {
    if (holds) {
      facts.add(fact);
    }
  }
}
