// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.rejection.RefusedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The division of one GPU: its partitions, and what is granted of them and of the rest. Immutable:
 * every change makes a new one, and none grants or cuts more than there is.
 */
public record Division(List<Partition> partitions, List<Allocation> allocations) {
  public static final Division UNDIVIDED = new Division(List.of(), List.of());

  public Division {
    partitions = List.copyOf(partitions);
    allocations = List.copyOf(allocations);
  }

  public Optional<Partition> partition(String name) {
    return partitions.stream().filter(p -> p.name().equals(name)).findFirst();
  }

  /** What leases have of a partition, or of the rest. */
  public Share granted(@Nullable String partition) {
    return allocations.stream()
        .filter(a -> Objects.equals(a.partition(), partition))
        .map(Allocation::share)
        .reduce(Share.NONE, Share::plus);
  }

  /** What of the GPU is in no partition; nothing if the card has become smaller than they are. */
  Share rest(Share whole) {
    Share cut = partitions.stream().map(Partition::size).reduce(Share.NONE, Share::plus);
    return whole.covers(cut) ? whole.minus(cut) : Share.NONE;
  }

  /** What can be granted, the rest first. */
  public List<Offer> offers(Gpu gpu) {
    List<Offer> offers = new ArrayList<>();
    Share rest = rest(gpu.whole());
    offers.add(Offer.ofRest(gpu, rest, rest.less(granted(null))));
    for (Partition partition : partitions) {
      if (partition.leaving()) {
        continue;
      }
      Share free = partition.limit().less(granted(partition.name()));
      offers.add(Offer.of(gpu, partition, free));
    }
    return offers;
  }

  /** With this allocation; empty if it does not fit. */
  public Optional<Division> take(Allocation allocation, Share whole) {
    if (!free(allocation.partition(), whole).covers(allocation.share())) {
      return Optional.empty();
    }
    List<Allocation> more = new ArrayList<>(allocations);
    more.add(allocation);
    return Optional.of(new Division(partitions, more));
  }

  /** Returns the share of a partition, or of the rest, that can still be granted. */
  public Share free(@Nullable String partition, Share whole) {
    Share limit =
        partition == null
            ? rest(whole)
            : partition(partition).map(Partition::limit).orElse(Share.NONE);
    return limit.less(granted(partition));
  }

  /**
   * With another part of the compute for what has some already; empty if there is no room for more.
   * Partitions that waited for less shrink.
   */
  public Optional<Division> change(
      LeaseId lease, @Nullable String partition, int computeBasisPoints, Share whole) {
    List<Allocation> changed = new ArrayList<>(allocations);
    for (int i = 0; i < changed.size(); i++) {
      Allocation before = changed.get(i);
      if (before.lease().equals(lease) && Objects.equals(before.partition(), partition)) {
        int more = computeBasisPoints - before.share().computeBasisPoints();
        if (more > 0 && free(partition, whole).computeBasisPoints() < more) {
          return Optional.empty();
        }
        Share share = new Share(before.share().memoryBytes(), computeBasisPoints);
        changed.set(i, new Allocation(lease, partition, share));
      }
    }
    return Optional.of(new Division(partitions, changed).settled());
  }

  /** Without what this lease has; partitions that waited for it shrink or go. */
  public Division release(LeaseId lease) {
    return new Division(
            partitions, allocations.stream().filter(a -> !a.lease().equals(lease)).toList())
        .settled();
  }

  /** With partitions that wait for their leases as small as these allow. */
  private Division settled() {
    List<Partition> settled = new ArrayList<>();
    for (Partition partition : partitions) {
      Share granted = granted(partition.name());
      if (partition.leaving()) {
        if (!granted.equals(Share.NONE)) {
          settled.add(partition.withSize(granted, null, true));
        }
      } else if (partition.target() != null) {
        settled.add(shrunk(partition, partition.target(), granted));
      } else {
        settled.add(partition);
      }
    }
    return new Division(settled, allocations);
  }

  public Division create(Partition partition, Gpu gpu) throws RefusedException {
    if (partition(partition.name()).isPresent()) {
      throw new RefusedException(
          RefusedException.Why.EXISTS,
          gpu.label() + " has a partition '" + partition.name() + "' already");
    }
    requireRoom(partition.size(), gpu);
    List<Partition> more = new ArrayList<>(partitions);
    more.add(partition);
    return new Division(more, allocations);
  }

  /**
   * With a partition of another size; growing takes from the rest.
   *
   * @param wait whether it may shrink as its leases end, where they have more than is to be left
   */
  public Division resize(String name, Share size, boolean wait, Gpu gpu) throws RefusedException {
    Partition before = require(name, gpu);
    Share granted = granted(name);
    if (!size.covers(granted) && !wait) {
      throw inUse(
          "partition '" + name + "' of " + gpu.label() + " cannot shrink to " + size,
          name,
          granted);
    }
    Partition after = shrunk(before, size, granted);
    requireRoom(after.size().less(before.size()), gpu);
    return with(name, p -> after);
  }

  /**
   * Without a partition.
   *
   * @param wait whether it may go with its last lease, if it has some
   */
  public Division delete(String name, boolean wait, Gpu gpu) throws RefusedException {
    require(name, gpu);
    Share granted = granted(name);
    if (granted.equals(Share.NONE)) {
      return new Division(
          partitions.stream().filter(p -> !p.name().equals(name)).toList(), allocations);
    }
    if (!wait) {
      throw inUse(
          "partition '" + name + "' of " + gpu.label() + " cannot be deleted", name, granted);
    }
    return with(name, p -> p.withSize(granted, null, true));
  }

  /** Ids of the leases in a partition, or in the rest. */
  public List<LeaseId> leases(@Nullable String partition) {
    return allocations.stream()
        .filter(a -> Objects.equals(a.partition(), partition))
        .map(Allocation::lease)
        .distinct()
        .toList();
  }

  /** As small as its leases allow, on the way to a target. */
  private static Partition shrunk(Partition partition, Share target, Share granted) {
    Share size = target.max(granted);
    return partition.withSize(size, size.equals(target) ? null : target, false);
  }

  private Partition require(String name, Gpu gpu) throws RefusedException {
    return partition(name)
        .orElseThrow(() ->
            new RefusedException(
                RefusedException.Why.NOT_FOUND,
                gpu.label()
                    + " has no partition '"
                    + name
                    + "'; it has "
                    + (partitions.isEmpty()
                        ? "none"
                        : String.join(", ", partitions.stream().map(Partition::name).toList()))));
  }

  private void requireRoom(Share wanted, Gpu gpu) throws RefusedException {
    Share free = rest(gpu.whole()).less(granted(null));
    if (!free.covers(wanted)) {
      List<LeaseId> holders = leases(null);
      throw new RefusedException(
          RefusedException.Why.IN_USE,
          gpu.label()
              + " has "
              + free
              + " free outside its partitions, and "
              + wanted
              + " is needed"
              + (holders.isEmpty() ? "" : "; outside are leases " + join(holders)));
    }
  }

  private RefusedException inUse(String what, String name, Share granted) {
    return new RefusedException(
        RefusedException.Why.IN_USE,
        what
            + " while leases "
            + join(leases(name))
            + " have "
            + granted
            + " of it; end them, or let the change wait for them");
  }

  private Division with(String name, UnaryOperator<Partition> change) {
    return new Division(
        partitions.stream().map(p -> p.name().equals(name) ? change.apply(p) : p).toList(),
        allocations);
  }

  private static String join(List<LeaseId> leases) {
    return String.join(", ", leases.stream().map(LeaseId::text).toList());
  }
}
