// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.placement.Defragmentation;
import io.gpupool.server.placement.Partition;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.rejection.RejectionReason.LeaseShare;
import io.gpupool.server.rejection.RejectionReason.PartitionShare;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * A shortage of room for a request. Its reason names nobody whom the caller may not see. Used by
 * the control thread.
 *
 * @param moves of leases that would make room
 */
public record Shortage(
    Outcome.NoCapacity noCapacity, LeaseSpec spec, List<Defragmentation.Move> moves) {
  private static final int MOST_NAMED = 3;

  public Shortage {
    moves = List.copyOf(moves);
  }

  /** A shortage for which no lease moves. */
  public Shortage(Outcome.NoCapacity noCapacity, LeaseSpec spec) {
    this(noCapacity, spec, List.of());
  }

  /** Returns why there is no room: servers drain, or leases have it. */
  public RejectionReason reason(Capacity capacity, Collection<Lease> leases) {
    Gpu gpu = noCapacity.best().gpu();
    return capacity.isDraining(gpu.server())
        ? new RejectionReason.ServersDraining(noCapacity.best().part(noCapacity.best().free()))
        : reason(leases, capacity.division(gpu).partitions());
  }

  /**
   * Returns who has the room.
   *
   * @param partitions of the GPU of the best offer
   */
  RejectionReason reason(Collection<Lease> leases, List<Partition> partitions) {
    return new RejectionReason.NoCapacity(
        noCapacity.best().part(noCapacity.best().free()),
        spec.requirements().gpus(),
        noCapacity.fitting(),
        leases.stream()
            .filter(lease -> lease.parts().stream().anyMatch(noCapacity.best()::holds))
            .limit(MOST_NAMED)
            .map(this::share)
            .toList(),
        noCapacity.best().partition() != null
            ? List.of()
            : partitions.stream().map(this::share).toList(),
        moves.stream()
            .map(move ->
                new RejectionReason.LeaseMove(
                    move.lease().text(), move.to().server(), move.to().ordinal()))
            .toList());
  }

  private PartitionShare share(Partition partition) {
    return new PartitionShare(
        maySee(partition) ? partition.name() : "",
        partition.size().memoryBytes(),
        partition.size().computePercent());
  }

  private boolean maySee(Partition partition) {
    return partition.tenants().isEmpty()
        || partition.tenants().contains(spec.tenant())
        || (spec.pod().isEmpty()
            && partition.tenants().stream().anyMatch(spec.principal()::maySee));
  }

  private LeaseShare share(Lease lease) {
    Share share = on(lease, noCapacity.best().gpu());
    LeaseShare.Visibility visibility = visibility(lease);
    return new LeaseShare(
        lease.id().text(),
        visibility,
        visibility == LeaseShare.Visibility.FULL ? name(lease) : "",
        share.memoryBytes(),
        share.computePercent());
  }

  /** A request for a pod is made by its cluster's controller, and read by the pod's namespace. */
  private LeaseShare.Visibility visibility(Lease lease) {
    if (spec.pod().isPresent()) {
      return isOfNamespace(lease)
          ? LeaseShare.Visibility.FULL
          : LeaseShare.Visibility.OTHER_NAMESPACE;
    }
    return spec.principal().maySee(lease.tenant())
        ? LeaseShare.Visibility.FULL
        : LeaseShare.Visibility.OTHER_TENANT;
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
