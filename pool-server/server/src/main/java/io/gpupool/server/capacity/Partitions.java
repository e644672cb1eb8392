// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.capacity;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.Partition;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Transaction;
import io.gpupool.server.tenant.Audit;
import io.gpupool.server.tenant.ResourceNames;
import io.gpupool.server.tenant.Tenants;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The changes that admins make to partitions. Owned by the control thread. */
public final class Partitions {
  private static final int MAX_PARTITIONS = 100;

  private final RecordStore records;
  private final Audit audit;
  private final Capacity capacity;

  public Partitions(RecordStore records, Audit audit, Capacity capacity) {
    this.records = records;
    this.audit = audit;
    this.capacity = capacity;
  }

  /** A size as it is asked for; what is null is left open. */
  public record Wanted(@Nullable Long memoryBytes, @Nullable Integer computeBasisPoints) {}

  /** The divisions of a GPU and the revision at which they are. */
  public record Seen(Division division, long revision) {}

  public Seen see(Gpu gpu) {
    return records
        .get(RecordTypes.DIVISIONS, GpuKey.of(gpu).text())
        .map(v -> new Seen(v.value(), v.revision()))
        .orElse(new Seen(Division.UNDIVIDED, 0));
  }

  /** The GPU of this server and ordinal. */
  public Gpu find(String server, int ordinal) throws RefusedException {
    return capacity.gpus().stream()
        .filter(gpu -> server.isEmpty() || gpu.server().equals(server))
        .filter(gpu -> gpu.ordinal() == ordinal)
        .findFirst()
        .orElseThrow(() ->
            new RefusedException(
                RefusedException.Why.NOT_FOUND,
                "there is no GPU "
                    + (server.isEmpty() ? "" : HolderName.plain(server) + "/")
                    + ordinal
                    + " in the pool"));
  }

  public void create(
      Principal principal, Gpu gpu, String name, Wanted wanted, boolean hard, Set<String> tenants)
      throws RefusedException, StateException {
    ResourceNames.check("a partition", name);
    if (wanted.memoryBytes() == null) {
      throw new RefusedException(
          RefusedException.Why.INVALID, "a partition needs memory; say how much");
    }
    Share size = size(gpu, wanted, Share.NONE);
    edit(
        principal,
        gpu,
        name,
        "partition.create",
        size.toString(),
        0,
        (transaction, division) -> {
          if (division.partitions().size() >= MAX_PARTITIONS) {
            throw new RefusedException(
                RefusedException.Why.INVALID,
                gpu.label() + " has " + MAX_PARTITIONS + " partitions already");
          }
          for (String tenant : tenants) {
            Tenants.refer(transaction, tenant);
          }
          return division.create(new Partition(name, size, hard, tenants), gpu);
        });
  }

  public void resize(
      Principal principal, Gpu gpu, String name, Wanted wanted, boolean wait, long ifRevision)
      throws RefusedException, StateException {
    edit(
        principal,
        gpu,
        name,
        "partition.resize",
        wanted.memoryBytes() != null ? size(gpu, wanted, Share.NONE).toString() : "",
        ifRevision,
        (transaction, division) -> {
          Share before =
              division
                  .partition(name)
                  .map(p -> Objects.requireNonNullElse(p.target(), p.size()))
                  .orElse(Share.NONE);
          return division.resize(name, size(gpu, wanted, before), wait, gpu);
        });
  }

  /** True when it is gone, false when it waits for its leases to end. */
  public boolean delete(Principal principal, Gpu gpu, String name, boolean wait, long ifRevision)
      throws RefusedException, StateException {
    edit(
        principal,
        gpu,
        name,
        "partition.delete",
        wait ? "when its leases have ended" : "",
        ifRevision,
        (transaction, division) -> division.delete(name, wait, gpu));
    return see(gpu).division().partition(name).isEmpty();
  }

  /** A change of how a GPU is divided. */
  private interface Edit {
    Division apply(Transaction transaction, Division division) throws RefusedException;
  }

  private void edit(
      Principal principal,
      Gpu gpu,
      String name,
      String action,
      String detail,
      long ifRevision,
      Edit edit)
      throws RefusedException, StateException {
    String key = GpuKey.of(gpu).text();
    records.update(transaction -> {
      long revision = transaction.revision(RecordTypes.DIVISIONS, key);
      if (ifRevision != 0 && ifRevision != revision) {
        throw new RefusedException(
            RefusedException.Why.CHANGED,
            "the partitions of "
                + gpu.label()
                + " have changed since (revision "
                + revision
                + ", not "
                + ifRevision
                + "); look again");
      }
      Division after =
          edit.apply(
              transaction, transaction.get(RecordTypes.DIVISIONS, key).orElse(Division.UNDIVIDED));
      if (after.equals(Division.UNDIVIDED)) {
        transaction.delete(RecordTypes.DIVISIONS, key);
      } else {
        transaction.put(RecordTypes.DIVISIONS, key, after);
      }
      audit.note(
          transaction, principal, action, gpu.server() + "/" + gpu.ordinal() + "/" + name, detail);
    });
  }

  /** What is left open is as before, or the same part of compute as of memory. */
  private static Share size(Gpu gpu, Wanted wanted, Share before) throws RefusedException {
    long memoryBytes = Objects.requireNonNullElse(wanted.memoryBytes(), before.memoryBytes());
    int compute =
        Objects.requireNonNullElse(
            wanted.computeBasisPoints(),
            before.computeBasisPoints() > 0
                ? before.computeBasisPoints()
                : (int)
                    Math.max(
                        Share.MIN_COMPUTE,
                        Math.min(1, (double) memoryBytes / gpu.memoryBytes())
                            * Share.WHOLE_COMPUTE));
    if (memoryBytes < Share.MIN_MEMORY_BYTES
        || compute < Share.MIN_COMPUTE
        || compute > Share.WHOLE_COMPUTE) {
      throw new RefusedException(
          RefusedException.Why.INVALID,
          "a partition has at least 1 MiB of memory, and 1 to 100 percent of compute");
    }
    return new Share(memoryBytes, compute);
  }
}
