// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseGrant;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.QueueScheduler.Decision;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.StateException;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The grants of the queue: each is committed and told to its client, or its request waits on, is
 * refused or sent to another server. Owned by the control thread.
 */
final class QueueGrants {
  /** After another server was quicker. */
  private static final long AGAIN_MILLIS = 50;

  private static final Logger LOG = LoggerFactory.getLogger(QueueGrants.class);

  private final QueuePlaces places;
  private final @Nullable SharedQueue shared;
  private final QueueAnswers answers;
  private final LeaseService leases;
  private final Timers timers;
  private final Runnable dispatch;
  private final SecureRandom random = new SecureRandom();

  /**
   * Makes the grants of a queue.
   *
   * @param dispatch looks at the queue again
   */
  QueueGrants(
      QueuePlaces places,
      @Nullable SharedQueue shared,
      QueueAnswers answers,
      LeaseService leases,
      Timers timers,
      Runnable dispatch) {
    this.places = places;
    this.shared = shared;
    this.answers = answers;
    this.leases = leases;
    this.timers = timers;
    this.dispatch = dispatch;
  }

  /** Gives a request what it is its turn to get. */
  void grant(QueueEntry entry, List<Part> parts) {
    places.take(entry);
    try {
      entry.take(parts);
    } catch (RefusedException e) {
      refused(entry, e);
    } catch (IOException e) {
      failed(entry, e);
    }
  }

  /** Grants a lease to a client. */
  void grantLease(QueueEntry entry, QueueClient client, List<Part> parts)
      throws RefusedException, IOException {
    LeaseSecret secret = secretOf(entry);
    GrantedLease granted =
        leases.grant(entry.spec(), parts, secret, client.hold(), entry.recordedKey().orElse(null));
    tell(entry, client, granted);
  }

  /** Tells a client of the lease that it has got. */
  void tell(QueueEntry entry, QueueClient client, GrantedLease granted) {
    entry.cancelLimit();
    leases.metrics().waited(Duration.ofNanos(entry.waitedNanos(timers.nowNanos())));
    client.granted(granted);
  }

  private LeaseSecret secretOf(QueueEntry entry) {
    return entry
        .identity()
        .map(RequestIdentity::secret)
        .orElseGet(() -> LeaseSecret.random(random));
  }

  /** Grants the leases of a gang by one commit, whichever servers their clients are at. */
  void grantGang(Decision.GrantGang gang) {
    if (endRevoked(gang)) {
      again();
      return;
    }
    List<Member> here = new ArrayList<>();
    List<LeaseGrant> grants = new ArrayList<>();
    for (Decision.Grant grant : gang.grants()) {
      Optional<Member> member = member(grant.request());
      Optional<LeaseGrant> complete =
          member.isPresent()
              ? member.map(found -> found.grant(grant.parts(), leases.store().server()))
              : Optional.ofNullable(shared)
                  .flatMap(queue -> queue.grant(grant.request(), grant.parts()));
      if (complete.isEmpty()) {
        // It has just been withdrawn at its server.
        again();
        return;
      }
      member.ifPresent(here::add);
      grants.add(complete.get());
    }
    here.forEach(member -> places.take(member.entry()));
    try {
      List<Lease> granted = leases.grantTogether(grants);
      for (int i = 0; i < granted.size(); i++) {
        Member member = here.get(i);
        tell(member.entry(), member.client(), new GrantedLease(granted.get(i), member.secret()));
      }
    } catch (RefusedException e) {
      LOG.debug("a gang is not granted yet: {}", e.getMessage());
      here.forEach(member -> places.put(member.entry()));
      again();
    } catch (IOException e) {
      here.forEach(member -> failed(member.entry(), e));
    }
  }

  /** A request of a gang with its client, which is at this server. */
  private record Member(QueueEntry entry, QueueClient client, LeaseSecret secret) {
    LeaseGrant grant(List<Part> parts, String server) {
      return new LeaseGrant(
          entry.spec(),
          parts,
          secret.hash(),
          entry.recordedKey().orElse(null),
          server,
          client.hold());
    }
  }

  private Optional<Member> member(QueuedRequest request) {
    return places
        .find(request.number())
        .flatMap(entry ->
            entry.client() instanceof QueueClient client
                ? Optional.of(new Member(entry, client, secretOf(entry)))
                : Optional.empty());
  }

  /**
   * Ends the requests of a gang that were made with a token which has been revoked since. Returns
   * whether there were any.
   */
  private boolean endRevoked(Decision.GrantGang gang) {
    List<QueuedRequest> revoked =
        gang.grants().stream()
            .map(Decision.Grant::request)
            .filter(request -> isRevoked(request.spec().principal().token()))
            .toList();
    for (QueuedRequest request : revoked) {
      Optional<QueueEntry> here = places.find(request.number());
      if (here.isPresent()) {
        places.take(here.get());
        answers.refuse(here.get(), new RejectionReason.TokenRevoked());
      }
      if (shared != null) {
        shared.forget(request);
      }
    }
    return !revoked.isEmpty();
  }

  private boolean isRevoked(@Nullable TokenHash token) {
    return token != null && !leases.store().hasToken(token);
  }

  private void again() {
    timers.after(AGAIN_MILLIS, dispatch);
  }

  private void refused(QueueEntry entry, RefusedException e) {
    if (e.why() == RefusedException.Why.CHANGED && entry.spec().waitMillis() > 0) {
      places.put(entry);
      again();
    } else {
      answers.refuse(
          entry,
          e.reason()
              .orElseGet(() -> new RejectionReason.NotRecorded(String.valueOf(e.getMessage()))));
    }
  }

  private void failed(QueueEntry entry, IOException e) {
    LOG.warn("request {} cannot be granted: {}", entry.id(), e.getMessage());
    if (e instanceof StateException) {
      answers.redirect(entry, String.valueOf(e.getMessage()));
    } else {
      answers.refuse(entry, new RejectionReason.NotRecorded(String.valueOf(e.getMessage())));
    }
  }
}
