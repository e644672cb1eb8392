// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.capacity;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.records.GpuFault;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.Versioned;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** The GPUs of the pool and what can be granted of each. Owned by the control thread. */
public final class Capacity {
  private final Members members;
  private final RecordStore records;

  /** Of a pool of one server. */
  public Capacity(List<Gpu> gpus, RecordStore records) {
    this(Members.alone(gpus), records);
  }

  public Capacity(Members members, RecordStore records) {
    this.members = members;
    this.records = records;
  }

  public Members members() {
    return members;
  }

  public List<Gpu> gpus() {
    return members.gpus();
  }

  public Optional<Gpu> gpu(GpuKey key) {
    return gpus().stream().filter(gpu -> GpuKey.of(gpu).equals(key)).findFirst();
  }

  public Division division(Gpu gpu) {
    return records
        .get(RecordTypes.DIVISIONS, GpuKey.of(gpu).text())
        .map(Versioned::value)
        .orElse(Division.UNDIVIDED);
  }

  /**
   * Every part of every GPU that can be granted from; nothing is free on those of servers that
   * drain, nor on those that are ill.
   */
  public List<Placement.Offer> snapshot() {
    Predicate<Gpu> isOpen = open();
    // They come last: the reason why a request waits is to be one that an open GPU has.
    Stream<Placement.Offer> closed =
        offers(isOpen.negate()).map(offer -> offer.without(offer.free()));
    return Stream.concat(offers(isOpen), closed).toList();
  }

  /** Every part of every GPU that new leases are granted from, with room or without. */
  public List<Placement.Offer> openOffers() {
    return offers(open()).toList();
  }

  private Predicate<Gpu> open() {
    Set<String> drained = records.all(RecordTypes.DRAINS).keySet();
    Set<String> ill = records.all(RecordTypes.GPU_FAULTS).keySet();
    return gpu ->
        members.lives(gpu.server())
            && !drained.contains(gpu.server())
            && (ill.isEmpty() || !ill.contains(GpuKey.of(gpu).text()));
  }

  private Stream<Placement.Offer> offers(Predicate<Gpu> wanted) {
    return gpus().stream().filter(wanted).flatMap(gpu -> division(gpu).offers(gpu).stream());
  }

  /** Whether a server grants nothing more. */
  public boolean isDraining(String server) {
    return records.get(RecordTypes.DRAINS, server).isPresent();
  }

  /** Whether a lease has something of a server's GPUs. */
  public boolean isLeased(String server) {
    return gpus().stream()
        .filter(gpu -> gpu.server().equals(server))
        .anyMatch(gpu -> !division(gpu).allocations().isEmpty());
  }

  /** Why nothing of a GPU is granted, if it is ill. */
  public Optional<GpuFault> ailment(Gpu gpu) {
    return records.get(RecordTypes.GPU_FAULTS, GpuKey.of(gpu).text()).map(Versioned::value);
  }

  /** Returns the share of a GPU that can still be granted, in partitions or outside. */
  public Share free(Gpu gpu) {
    return free(gpu, offer -> true);
  }

  /** Returns the share of a GPU that can still be granted in its partitions. */
  public Share freeInPartitions(Gpu gpu) {
    return free(gpu, offer -> offer.partition() != null);
  }

  private Share free(Gpu gpu, Predicate<Placement.Offer> counts) {
    if (!members.lives(gpu.server()) || ailment(gpu).isPresent()) {
      return Share.NONE;
    }
    return division(gpu).offers(gpu).stream()
        .filter(counts)
        .map(Placement.Offer::free)
        .reduce(Share.NONE, Share::plus);
  }
}
