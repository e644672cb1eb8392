// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.move;

import io.gpupool.runtime.RandomHex;
import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.Shortage;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.placement.Defragmentation.LeasePart;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.GrantRecord.PartRecord;
import io.gpupool.server.records.LeaseOwner;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.StateException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The requests to move leases to other GPUs. A move that is begun is recorded; the servers of both
 * GPUs do the rest. Owned by the control thread.
 */
public final class LeaseMoves {
  /** How long a move may take. */
  public static final long LIMIT_MILLIS = 120_000;

  private static final int ID_BYTES = 8;

  /** A reader of reasons that anybody may see. */
  private static final Principal NOBODY = new Principal("", Role.USER, null);

  private final LeaseStore store;
  private final LeaseService leases;
  private final Capacity capacity;
  private final Timers timers;
  private final ServerKinds kinds;
  private final SecureRandom random = new SecureRandom();

  /** Of a server's pool. */
  public LeaseMoves(
      LeaseStore store,
      LeaseService leases,
      Capacity capacity,
      Timers timers,
      ServerKinds.Kind own) {
    this.store = store;
    this.leases = leases;
    this.capacity = capacity;
    this.timers = timers;
    kinds = new ServerKinds(capacity.members(), own);
  }

  /**
   * A move that has begun.
   *
   * @param id of the move
   */
  public record Begun(LeaseId lease, String id, Part from, Part to) {}

  /** Begins to move a lease that the principal may use. */
  public Begun begin(String lease, Destination to, Principal principal)
      throws RefusedException, StateException {
    LeaseId id = new LeaseId(lease);
    GrantRecord grant =
        store
            .get(id)
            .filter(found -> principal.mayUse(found.tenant()))
            .orElseThrow(() -> LeaseFinder.unknown(lease));
    requireMovable(id, grant);
    Part from = part(id, grant);
    return begin(id, grant, from, place(id, from, to, grant, principal), principal);
  }

  /** Begins to move a lease to whichever other server has room. */
  public Begun beginElsewhere(LeaseId id) throws RefusedException, StateException {
    GrantRecord grant = store.get(id).orElseThrow(() -> LeaseFinder.unknown(id.text()));
    requireMovable(id, grant);
    Part from = part(id, grant);
    List<Offer> alike =
        capacity.snapshot().stream()
            .filter(offer ->
                !offer.gpu().server().equals(from.gpu().server())
                    && canGoOn(from.gpu(), offer.gpu()))
            .toList();
    if (alike.isEmpty()) {
      throw refused(
          "no other server of the pool has a "
              + from.gpu().name()
              + ", cc "
              + from.gpu().computeCapability()
              + ", the same driver, and this version of gpupool");
    }
    // Everybody who sees the server sees the reason.
    LeaseOwner nobody = new LeaseOwner(grant.holder(), "", null);
    return begin(id, grant, from, place(grant, from, alike, NOBODY, nobody), Principal.POOL);
  }

  /** Returns whether sessions of one GPU can go on with another. */
  boolean canGoOn(Gpu from, Gpu to) {
    return isAlike(from, to)
        && hasSameDriver(from, to)
        && capacity.members().lives(to.server())
        && kinds.difference(from.server(), to.server()).isEmpty();
  }

  /** The leases that could be moved now, if there were room. */
  List<LeasePart> movable() {
    Map<GpuKey, Gpu> gpus =
        capacity.gpus().stream()
            .collect(Collectors.toMap(GpuKey::of, Function.identity(), (one, _) -> one));
    List<LeasePart> movable = new ArrayList<>();
    store.forEach((id, grant) -> {
      Gpu gpu = grant.parts().isEmpty() ? null : gpus.get(grant.parts().getFirst().gpu());
      if (gpu != null && isMovable(id, grant)) {
        movable.add(new LeasePart(id, grant.tenant(), grant.parts().getFirst().on(gpu)));
      }
    });
    return movable;
  }

  private boolean isMovable(LeaseId id, GrantRecord grant) {
    try {
      requireMovable(id, grant);
      return true;
    } catch (RefusedException e) {
      return false;
    }
  }

  private Part part(LeaseId id, GrantRecord grant) throws RefusedException {
    PartRecord part = grant.parts().getFirst();
    return part.on(capacity.gpu(part.gpu()).orElseThrow(() -> gone(id, part.gpu().server())));
  }

  private Begun begin(LeaseId id, GrantRecord grant, Part from, Part target, Principal principal)
      throws RefusedException, StateException {
    PartRecord part = grant.parts().getFirst();
    MoveRecord move =
        new MoveRecord(
            RandomHex.of(random, ID_BYTES),
            part.gpu(),
            PartRecord.of(target),
            timers.wallMillis() + LIMIT_MILLIS,
            null,
            MoveRecord.Phase.PREPARING,
            MoveRecord.Result.NONE,
            List.of());
    store.moves().begin(id, move, target, principal);
    return new Begun(id, move.id(), from, target);
  }

  private void requireMovable(LeaseId id, GrantRecord grant) throws RefusedException {
    if (grant.isEnding() || grant.parts().isEmpty()) {
      throw refused("lease " + id + " is ending; ask for a new one");
    }
    Optional<String> obstacle = obstacle(id, grant);
    if (obstacle.isPresent()) {
      throw refused(obstacle.get());
    }
    if (store.suspensions().isSuspended(id)) {
      throw refused("lease " + id + " is suspended; resume it, and move it then");
    }
    Optional<MoveRecord> move = store.moves().get(id).filter(MoveRecord::isUnderWay);
    if (move.isPresent()) {
      throw refused(
          "lease "
              + id
              + (move.get().isPreparing()
                  ? " is being moved already; wait for that move to end"
                  : " was moved a moment ago; wait until what it had before is free"));
    }
  }

  /** Returns why a lease never moves, if it does not. */
  Optional<String> obstacle(LeaseId id, GrantRecord grant) {
    if (grant.parts().size() > 1) {
      return Optional.of(
          "lease "
              + id
              + " has "
              + grant.parts().size()
              + " GPUs; gpupool moves only leases of one GPU yet");
    }
    if (grant.limits().resumeWindowMillis() == 0) {
      return Optional.of(
          "lease "
              + id
              + " has a resume window of 0, so its programs end with their connections; ask for a"
              + " lease with a resume window");
    }
    return kinds.fixed(grant.parts().getFirst().gpu().server());
  }

  /** Chooses the GPU of a server that somebody has named. */
  private Part place(LeaseId id, Part from, Destination to, GrantRecord grant, Principal principal)
      throws RefusedException {
    requireServers(id, from.gpu(), to);
    List<Offer> offers =
        capacity.snapshot().stream()
            .filter(offer -> to.accepts(offer.gpu()) && !offer.gpu().equals(from.gpu()))
            .toList();
    if (offers.isEmpty()) {
      throw refused(
          "lease "
              + id
              + " is on "
              + from.gpu().label()
              + (to.ordinal() != null ? " already" : ", and that server has no other GPU"));
    }
    List<Offer> alike = offers.stream().filter(offer -> isAlike(offer.gpu(), from.gpu())).toList();
    if (alike.isEmpty()) {
      throw unlike(from.gpu(), to, offers.getFirst());
    }
    List<Offer> driven =
        alike.stream().filter(offer -> hasSameDriver(offer.gpu(), from.gpu())).toList();
    if (driven.isEmpty()) {
      throw refused(
          "lease "
              + id
              + " is on a GPU with driver "
              + driver(from.gpu())
              + ", and "
              + to
              + " has driver "
              + driver(alike.getFirst().gpu())
              + "; install the same driver on both");
    }
    return place(grant, from, driven, principal, grant.owner());
  }

  /**
   * Chooses the GPU, by the rules of new leases.
   *
   * @param principal who may see the reason of a refusal, as may this owner
   */
  private Part place(
      GrantRecord grant, Part from, List<Offer> alike, Principal principal, LeaseOwner owner)
      throws RefusedException {
    GpuRequirements requirements = requirements(from, alike);
    return switch (Placement.place(requirements, grant.tenant(), alike)) {
      case Outcome.Placed placed -> placed.parts().getFirst();
      case Outcome.Unsatisfiable(RejectionReason reason) -> throw refused(reason);
      case Outcome.NoCapacity full -> {
        requireHealthy(full.best().gpu());
        LeaseSpec spec =
            new LeaseSpec(requirements, 0, 0, owner, principal, grant.limits(), grant.leaseClass());
        throw refused(new Shortage(full, spec).reason(capacity, leases.all()));
      }
    };
  }

  /** A lease of a partition stays in one of that name, if there is one. */
  private static GpuRequirements requirements(Part from, List<Offer> offers) {
    @Nullable String partition =
        offers.stream().anyMatch(offer -> Objects.equals(offer.partition(), from.partition()))
            ? from.partition()
            : null;
    return new GpuRequirements(
        1,
        new GpuRequirements.Size.Memory(from.share().memoryBytes()),
        from.share().computeBasisPoints(),
        List.of(),
        partition,
        from.hard(),
        false,
        false);
  }

  private static RefusedException unlike(Gpu from, Destination to, Offer there) {
    RejectionReason reason =
        new RejectionReason.NoMatch(
            List.of(
                "cc=" + from.computeCapability(), "model=" + from.name(), "server=" + to.server()),
            there.part(there.gpu().whole()));
    return new RefusedException(
        RefusedException.Why.IN_USE,
        reason.text()
            + "; the lease is on "
            + from.name()
            + ", cc "
            + from.computeCapability()
            + ", and moves only to another such GPU",
        reason);
  }

  private static boolean isAlike(Gpu gpu, Gpu other) {
    return gpu.name().equals(other.name())
        && gpu.computeCapability().equals(other.computeCapability());
  }

  /** Returns whether one driver makes again as it was what the other has made. */
  private static boolean hasSameDriver(Gpu gpu, Gpu other) {
    return driver(gpu).equals(driver(other));
  }

  private static String driver(Gpu gpu) {
    String cuda = "CUDA " + gpu.driverVersion() / 1000 + "." + gpu.driverVersion() % 1000 / 10;
    return gpu.facts().driver().isEmpty() ? cuda : gpu.facts().driver() + " (" + cuda + ")";
  }

  private void requireServers(LeaseId id, Gpu from, Destination to) throws RefusedException {
    if (capacity.gpus().stream().noneMatch(to::accepts)) {
      throw new RefusedException(
          RefusedException.Why.NOT_FOUND,
          "there is no GPU "
              + to
              + "; name a server of the pool, such as "
              + from.server()
              + ", and perhaps one of its GPUs: "
              + from.server()
              + "/0");
    }
    for (String server : List.of(from.server(), to.server())) {
      if (!capacity.members().lives(server)) {
        throw gone(id, server);
      }
    }
    Optional<String> difference = kinds.difference(from.server(), to.server());
    if (difference.isPresent()) {
      throw refused("lease " + id + " cannot move to " + to + ": " + difference.get());
    }
  }

  private void requireHealthy(Gpu gpu) throws RefusedException {
    var fault = capacity.ailment(gpu);
    if (fault.isPresent()) {
      throw refused(gpu.label() + " grants nothing: " + fault.get().problem());
    }
  }

  private static RefusedException refused(String message) {
    return new RefusedException(RefusedException.Why.IN_USE, message);
  }

  private static RefusedException refused(RejectionReason reason) {
    return new RefusedException(RefusedException.Why.IN_USE, reason.text(), reason);
  }

  private static RefusedException gone(LeaseId id, String server) {
    return refused(
        "server "
            + server
            + " is not in the pool now; lease "
            + id
            + " can move once it has come back");
  }
}
