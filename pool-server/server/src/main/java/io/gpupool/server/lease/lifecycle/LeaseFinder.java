// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.lease.model.LeaseCredential;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.rejection.RefusedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A finder of the pool's leases by what callers know of them. It finds leases that another server
 * has granted a moment ago, too. Owned by the control thread.
 */
public final class LeaseFinder {
  private static final int LOOKS = 20;
  private static final long LOOK_MILLIS = 50;

  private final LeaseService leases;
  private final LeaseStore store;
  private final Members members;
  private final Timers timers;

  public LeaseFinder(LeaseService leases, LeaseStore store, Members members, Timers timers) {
    this.leases = leases;
    this.store = store;
    this.members = members;
    this.timers = timers;
  }

  /** The refusal of a request about a lease that its caller does not have. */
  public static RefusedException unknown(String id) {
    return new RefusedException(
        RefusedException.Why.NOT_FOUND,
        "there is no lease '" + HolderName.plain(id) + "' of yours; it may have ended");
  }

  /** A lease that has not ended. */
  public Optional<Lease> find(String id) {
    LeaseId key = new LeaseId(id);
    Optional<Lease> known = leases.get(key);
    if (known.isEmpty() && !members.isAlone()) {
      leases.adopt(key);
      known = leases.get(key).or(() -> leases.remote(key));
    }
    return known.filter(lease -> lease.state().isAlive());
  }

  public Optional<Lease> find(String id, String secret) {
    return find(id).filter(lease -> lease.hasSecret(secret));
  }

  /** The lease whose client chose this secret. */
  public Optional<GrantedLease> find(LeaseSecret secret) {
    return store
        .find(secret.hash())
        .flatMap(id -> find(id.text()))
        .map(lease -> new GrantedLease(lease, secret));
  }

  /** Finds a lease that another server may have granted a moment ago. */
  public void findWithRetry(LeaseCredential credential, Consumer<Optional<Lease>> then) {
    findWithRetry(credential, LOOKS, then);
  }

  private void findWithRetry(
      LeaseCredential credential, int looks, Consumer<Optional<Lease>> then) {
    Optional<Lease> lease = find(credential);
    if (lease.isPresent() || looks == 0 || members.isAlone()) {
      then.accept(lease);
    } else {
      timers.after(LOOK_MILLIS, () -> findWithRetry(credential, looks - 1, then));
    }
  }

  private Optional<Lease> find(LeaseCredential credential) {
    return switch (credential) {
      case LeaseCredential.BySecret(String lease, String secret) -> find(lease, secret);
      case LeaseCredential.ByPod(String uid, String container) -> {
        List<Lease> found =
            store.ofPod(uid, container).stream().flatMap(id -> find(id.text()).stream()).toList();
        yield found.size() == 1 ? Optional.of(found.getFirst()) : Optional.empty();
      }
    };
  }

  /** The tenant of a lease on any server's GPUs. */
  public Optional<String> tenantOf(String id) {
    return store.get(new LeaseId(id)).map(GrantRecord::tenant);
  }

  /** The leases on this server's GPUs. */
  public List<Lease> here() {
    return leases.all().stream().filter(lease -> !lease.isRemote()).toList();
  }

  /** How many leases this server's GPUs have. */
  public int countHere() {
    return here().size();
  }

  /** How many leases another server's GPUs have. */
  public int countOn(String server) {
    int[] count = new int[1];
    store.forEach((id, record) -> count[0] += record.isOn(server) ? 1 : 0);
    return count[0];
  }

  /** The leases of this server, and those of the others that it sees. */
  public List<Lease> all() {
    List<Lease> all = new ArrayList<>(leases.all());
    if (!members.isAlone()) {
      store.forEach((id, record) -> {
        if (leases.get(id).isEmpty() && !record.isOn(store.server())) {
          find(id.text()).ifPresent(all::add);
        }
      });
    }
    return all;
  }
}
