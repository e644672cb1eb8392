// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.rejection.RejectionDetail;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.model.LeaseCredential;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.queue.QueuePosition;
import io.gpupool.server.rejection.RejectionReason;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.Optional;
import java.util.function.Consumer;

/** A look-up of leases for callers, by what they show. Runs on the control thread. */
public record LeaseLookup(LeaseFinder finder, LeaseQueue queue) {
  /** What the ids of leases begin with that are meant as the caller's own. */
  private static final String OF_POD = "pod/";

  /** Finds a lease that the caller may use as its holder or its pod does. */
  void find(String id, String secret, Principal principal, Consumer<Optional<Lease>> then) {
    finder.findWithRetry(
        credential(id, secret, principal),
        found ->
            then.accept(found.filter(l -> principal.mayUse(l.tenant(), l.pod().orElse(null)))));
  }

  /**
   * Finds a lease by its id and secret. Without a secret, the caller needs a right to the lease
   * instead.
   */
  Optional<Lease> find(String id, String secret, Principal principal) {
    Optional<Lease> found = secret.isEmpty() ? finder.find(id) : finder.find(id, secret);
    return found.filter(lease -> principal.mayUse(lease.tenant()));
  }

  /** The caller's way to mean a lease: by its secret, or as the pod's own. */
  private static LeaseCredential credential(String id, String secret, Principal principal) {
    return principal
        .podUid()
        .filter(uid -> id.startsWith(OF_POD))
        .<LeaseCredential>map(uid -> new LeaseCredential.ByPod(uid, id.substring(OF_POD.length())))
        .orElseGet(() -> new LeaseCredential.BySecret(id, secret));
  }

  /** The answer where there is no such lease. A pod is told how long it is to wait. */
  StatusRuntimeException unknown(String id, Principal principal) {
    if (principal.podUid().isEmpty() || !id.startsWith(OF_POD)) {
      return unknownSecret(id);
    }
    String container = id.substring(OF_POD.length());
    return queue
        .positionOf(principal.podUid().get(), container)
        .map(LeaseLookup::waiting)
        .orElseGet(() ->
            Status.NOT_FOUND
                .withDescription(
                    "the pod has no lease, or several of which the container's is not named")
                .asRuntimeException());
  }

  private static StatusRuntimeException waiting(QueuePosition position) {
    RejectionReason reason = position.reason();
    return RejectionDetail.failure(
        Status.NOT_FOUND,
        "place " + position.place() + " in the queue: " + reason.text(),
        reason.message());
  }

  static StatusRuntimeException unknownSecret(String id) {
    return Status.PERMISSION_DENIED
        .withDescription(
            "there is no lease '"
                + HolderName.plain(id)
                + "' with this secret; it may have ended, ask for a new one")
        .asRuntimeException();
  }
}
