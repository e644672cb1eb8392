// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.suspend;

import io.gpupool.runtime.RandomHex;
import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.StateException;
import java.security.SecureRandom;

/**
 * The requests to suspend and resume leases. What is asked for is recorded; the lease's server does
 * the rest. Owned by the control thread.
 */
public final class LeaseSuspensions {
  private static final int ID_BYTES = 8;

  private final LeaseStore store;
  private final Timers timers;
  private final SecureRandom random = new SecureRandom();

  /** Of a server's pool. */
  public LeaseSuspensions(LeaseStore store, Timers timers) {
    this.store = store;
    this.timers = timers;
  }

  /**
   * Begins to suspend a lease that the principal may use.
   *
   * @param wakesOnCall whether a call of its programs resumes it
   */
  public SuspensionRecord begin(String lease, boolean wakesOnCall, Principal principal)
      throws RefusedException, StateException {
    LeaseId id = new LeaseId(lease);
    GrantRecord grant = grant(lease, principal);
    requireSuspendable(id, grant);
    SuspensionRecord asked =
        SuspensionRecord.asked(
            RandomHex.of(random, ID_BYTES),
            grant.parts().getFirst(),
            wakesOnCall,
            timers.wallMillis());
    store.suspensions().begin(id, asked, principal);
    return asked;
  }

  private GrantRecord grant(String lease, Principal principal) throws RefusedException {
    return store
        .get(new LeaseId(lease))
        .filter(found -> principal.mayUse(found.tenant()))
        .orElseThrow(() -> LeaseFinder.unknown(lease));
  }

  private void requireSuspendable(LeaseId id, GrantRecord grant) throws RefusedException {
    if (grant.isEnding() || grant.parts().isEmpty()) {
      throw refused("lease " + id + " is ending; ask for a new one");
    }
    if (grant.parts().size() > 1) {
      throw refused(
          "lease "
              + id
              + " has "
              + grant.parts().size()
              + " GPUs; gpupool suspends only leases of one GPU yet");
    }
    if (grant.limits().resumeWindowMillis() == 0) {
      throw refused(
          "lease "
              + id
              + " has a resume window of 0, so its programs end with their connections; ask for a"
              + " lease with a resume window");
    }
    if (store.moves().get(id).filter(MoveRecord::isUnderWay).isPresent()) {
      throw refused("lease " + id + " is being moved; suspend it once it has moved");
    }
    if (store.suspensions().isSuspended(id)) {
      throw refused("lease " + id + " is suspended already");
    }
  }

  /**
   * Asks for a lease to be resumed.
   *
   * @return its suspension
   * @throws RefusedException if it is not suspended
   */
  public SuspensionRecord resume(String lease, Principal principal)
      throws RefusedException, StateException {
    LeaseId id = new LeaseId(lease);
    GrantRecord grant = grant(lease, principal);
    if (grant.isEnding() || !store.suspensions().want(id, principal)) {
      throw refused("lease " + id + " is not suspended");
    }
    return store
        .suspensions()
        .get(id)
        .orElseThrow(() -> refused("lease " + id + " is not suspended any more"));
  }

  private static RefusedException refused(String message) {
    return new RefusedException(RefusedException.Why.IN_USE, message);
  }
}
