// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.LeaseSpec;
import java.util.Collection;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A shortage of room for a request. It is explained to people without naming anybody whom they may
 * not see. Used by the control thread.
 */
record Shortage(Outcome.Full full, LeaseSpec spec) {
  private static final int MOST_NAMED = 3;

  /**
   * Says why there is no room, and what to do.
   *
   * @param draining whether the server of the best offer is being drained
   */
  String explain(boolean draining, Collection<Lease> leases) {
    return draining ? drained() : taken(leases);
  }

  private String drained() {
    Gpu gpu = full.best().gpu();
    return "what could serve it is on servers that drain, such as "
        + gpu.label()
        + "; wait for others, or have an admin of the pool put it back into service";
  }

  private String taken(Collection<Lease> leases) {
    String best = "largest free fraction is " + full.best().free() + " on " + full.best().label();
    if (spec.requirements().gpus() > 1) {
      best = full.fitting() + " of these are free now, beyond them the " + best;
    }
    String holders =
        leases.stream()
            .filter(lease -> lease.parts().stream().anyMatch(full.best()::holds))
            .limit(MOST_NAMED)
            .map(this::described)
            .collect(Collectors.joining(" or "));
    return best
        + "; "
        + spec.howToAskForLess()
        + (holders.isEmpty() ? "" : " or wait for " + holders);
  }

  private String described(Lease lease) {
    return "lease " + lease.id() + " (" + holder(lease) + ", " + on(lease, full.best().gpu()) + ")";
  }

  /** A request for a pod is made by its cluster's controller, and read by the pod's namespace. */
  private String holder(Lease lease) {
    if (spec.pod().isPresent()) {
      return isOfNamespace(lease) ? name(lease) : "not of this namespace";
    }
    return spec.principal().maySee(lease.tenant()) ? name(lease) : "another tenant's";
  }

  private boolean isOfNamespace(Lease lease) {
    Optional<String> namespace = spec.pod().map(LeasePod::namespace);
    // Several clusters may share a pool, and each has namespaces of the same names.
    return lease.pod().map(LeasePod::namespace).equals(namespace)
        && lease.holder().user().equals(spec.holder().user());
  }

  private static String name(Lease lease) {
    return lease
        .pod()
        .map(pod -> "pod " + pod.namespace() + "/" + pod.name())
        .orElseGet(lease.holder()::toString);
  }

  private static Share on(Lease lease, Gpu gpu) {
    return lease.parts().stream()
        .filter(part -> part.gpu().equals(gpu))
        .map(Part::share)
        .reduce(Share.NONE, Share::plus);
  }
}
