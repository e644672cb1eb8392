// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.store;

import io.gpupool.server.capacity.Members;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Transaction;
import io.gpupool.server.state.Versioned;
import io.gpupool.server.tenant.Audit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The records of the moves of leases to other GPUs. Each change names the move and goes by its
 * phase, so the first of several comes to be. Owned by the control thread.
 */
public final class MoveStore {
  private final RecordStore records;
  private final Audit audit;
  private final Members members;

  MoveStore(RecordStore records, Audit audit, Members members) {
    this.records = records;
    this.audit = audit;
    this.members = members;
  }

  /** What went over in a move that is about to be committed. */
  public record Moved(List<String> sessions, long bytes, long pauseNanos) {
    public Moved {
      sessions = List.copyOf(sessions);
    }
  }

  /** The latest move of a lease. */
  public Optional<MoveRecord> get(LeaseId id) {
    return records.get(RecordTypes.MOVES, id.text()).map(Versioned::value);
  }

  /** Has an action run after every change of moves, on the thread that brought it. */
  public void whenChanged(Runnable action) {
    records.whenChanged(RecordTypes.MOVES, action);
  }

  /** Whether a server lives. */
  public boolean lives(String server) {
    return members.isThis(server) || members.lives(server);
  }

  /** The latest moves of all leases. */
  public Map<LeaseId, MoveRecord> all() {
    Map<LeaseId, MoveRecord> all = new LinkedHashMap<>();
    records.all(RecordTypes.MOVES).forEach((id, move) -> all.put(new LeaseId(id), move.value()));
    return all;
  }

  /** Returns the lease with which a session has moved, if it has. Looks at all moves. */
  public Optional<LeaseId> leaseOf(String session) {
    return all().entrySet().stream()
        .filter(move -> move.getValue().sessions().contains(session))
        .map(Map.Entry::getKey)
        .findFirst();
  }

  /**
   * Begins a move: takes the target beside what the lease has.
   *
   * @throws RefusedException if something that the decision rests on has changed
   */
  public void begin(LeaseId id, MoveRecord move, Part target, Principal principal)
      throws StateException, RefusedException {
    records.update(transaction -> {
      GrantRecord grant =
          GrantRecord.living(transaction, id)
              .filter(found -> found.parts().size() == 1)
              .filter(found -> found.parts().getFirst().gpu().equals(move.source()))
              .orElseThrow(() -> changed("lease " + id + " has ended or moved meanwhile"));
      Optional<MoveRecord> before = transaction.get(RecordTypes.MOVES, id.text());
      if (before.filter(MoveRecord::isUnderWay).isPresent()) {
        throw changed("lease " + id + " is being moved already");
      }
      if (transaction
          .get(RecordTypes.SUSPENSIONS, id.text())
          .filter(found -> !found.isOver())
          .isPresent()) {
        throw changed("lease " + id + " is being suspended");
      }
      if (!grant.parts().getFirst().share().equals(move.target().share())) {
        throw changed("lease " + id + " was changed meanwhile");
      }
      new GrantCommit(transaction, members).takeBeside(id, target);
      transaction.put(RecordTypes.MOVES, id.text(), before.map(move::after).orElse(move));
      audit.note(transaction, principal, "lease.move", id.text(), "to " + target.gpu().label());
    });
  }

  /**
   * Records the key that the source server shows. Returns whether the move is one to go on with.
   */
  public boolean prove(LeaseId id, String move, TokenHash key) throws StateException {
    return records.transact(transaction -> {
      Optional<MoveRecord> before = preparing(transaction, id, move);
      before
          .filter(record -> record.keyHash() == null)
          .ifPresent(record -> transaction.put(RecordTypes.MOVES, id.text(), record.begun(key)));
      return before.isPresent();
    });
  }

  /** Ends a move that has failed; nothing changes if it was committed before. */
  public void fail(LeaseId id, String move, String reason) throws StateException {
    records.update(transaction -> {
      Optional<MoveRecord> before = preparing(transaction, id, move);
      if (before.isPresent()) {
        transaction.put(RecordTypes.MOVES, id.text(), before.get().failed(reason));
        audit.note(
            transaction, Principal.POOL, "lease.move", id.text(), "it has failed: " + reason);
      }
    });
  }

  private static Optional<MoveRecord> preparing(Transaction transaction, LeaseId id, String move) {
    return transaction
        .get(RecordTypes.MOVES, id.text())
        .filter(found -> found.id().equals(move) && found.isPreparing());
  }

  /** When a server came, which tells its processes apart; 0: it is this one, or is not there. */
  public long sinceMillis(String server) {
    return members.isThis(server)
        ? 0
        : records.get(RecordTypes.SERVERS, server).map(e -> e.value().sinceMillis()).orElse(0L);
  }

  /**
   * Commits a move: the lease has its other GPU from now on, and its former one until that is free.
   *
   * @param targetSinceMillis when the target's server had come when the first session moved
   * @return why it cannot be committed any more; empty: it is committed
   */
  public Optional<String> commit(LeaseId id, String move, Moved moved, long targetSinceMillis)
      throws StateException {
    return records.transact(transaction -> {
      Optional<MoveRecord> found =
          transaction.get(RecordTypes.MOVES, id.text()).filter(m -> m.id().equals(move));
      if (found.isPresent() && found.get().phase() == MoveRecord.Phase.MOVED) {
        return Optional.empty();
      }
      Optional<GrantRecord> grant = GrantRecord.living(transaction, id);
      if (found.isEmpty() || !found.get().isPreparing() || grant.isEmpty()) {
        return Optional.of(
            found
                .map(record -> record.result().reason())
                .filter(reason -> !reason.isEmpty())
                .orElse("the lease has ended"));
      }
      String server = found.get().target().gpu().server();
      long sinceMillis =
          members.isThis(server)
              ? 0
              : transaction.get(RecordTypes.SERVERS, server).map(e -> e.sinceMillis()).orElse(-1L);
      if (sinceMillis != targetSinceMillis) {
        return Optional.of("server " + server + " was started anew, or is gone");
      }
      transaction.put(
          RecordTypes.GRANTS,
          id.text(),
          grant.get().with(List.of(found.get().target()), grant.get().leaseClass()));
      transaction.put(
          RecordTypes.MOVES,
          id.text(),
          found.get().moved(moved.sessions(), moved.bytes(), moved.pauseNanos()));
      return Optional.empty();
    });
  }

  /** Frees what a lease has of a GPU that is not its own: nothing of it is alive there. */
  public void clear(LeaseId id, GpuKey gpu) throws StateException {
    records.update(transaction -> {
      Optional<GrantRecord> grant = transaction.get(RecordTypes.GRANTS, id.text());
      if (grant.filter(lease -> lease.isOn(gpu)).isPresent()) {
        return;
      }
      new EndCommit(transaction, audit).free(id, gpu.text());
      Optional<MoveRecord> move = transaction.get(RecordTypes.MOVES, id.text());
      if (move.isPresent() && grant.isEmpty()) {
        transaction.delete(RecordTypes.MOVES, id.text());
      } else if (move.filter(of -> !of.isPreparing() && of.loser().equals(gpu)).isPresent()) {
        transaction.put(RecordTypes.MOVES, id.text(), move.get().clear());
      }
    });
  }

  private static RefusedException changed(String message) {
    return new RefusedException(RefusedException.Why.CHANGED, message);
  }
}
