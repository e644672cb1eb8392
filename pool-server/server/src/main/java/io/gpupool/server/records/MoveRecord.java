// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.records.GrantRecord.PartRecord;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The record of the latest move of a lease to another GPU.
 *
 * @param source the GPU that the lease had
 * @param target its part of the other one
 * @param deadlineAtMillis since 1970
 * @param keyHash of the move key; null: the source server has not begun yet
 * @param sessions ids of those that went over with the latest move that came to its end
 */
public record MoveRecord(
    String id,
    GpuKey source,
    PartRecord target,
    long deadlineAtMillis,
    @Nullable TokenHash keyHash,
    Phase phase,
    Result result,
    List<String> sessions) {
  public MoveRecord {
    sessions = List.copyOf(sessions);
  }

  /** The phases of a move. */
  public enum Phase {
    PREPARING,
    MOVED,
    FAILED
  }

  /**
   * What came of a move.
   *
   * @param reason why it failed; empty: it did not
   * @param bytes that went over
   * @param pauseNanos of the session that stood still for longest
   * @param cleared whether the GPU that the lease does not have has nothing of it any more
   */
  public record Result(String reason, long bytes, long pauseNanos, boolean cleared) {
    public static final Result NONE = new Result("", 0, 0, false);
  }

  /** Returns the GPU that the lease does not have when the move is over. */
  public GpuKey loser() {
    return phase == Phase.MOVED ? source : target.gpu();
  }

  /** Returns whether it still takes something of both GPUs. */
  public boolean isUnderWay() {
    return !result.cleared();
  }

  public boolean isPreparing() {
    return phase == Phase.PREPARING;
  }

  /** Returns the record of a new move that takes the place of an earlier one. */
  public MoveRecord after(MoveRecord earlier) {
    return with(phase, keyHash, result, earlier.sessions());
  }

  /** Returns the record once the source server has made the key. */
  public MoveRecord begun(TokenHash hash) {
    return with(phase, hash, result, sessions);
  }

  /** Returns the record of the move that has come to its end with these sessions. */
  public MoveRecord moved(List<String> withSessions, long bytes, long pauseNanos) {
    return with(Phase.MOVED, keyHash, new Result("", bytes, pauseNanos, false), withSessions);
  }

  /** Returns the record of the move that has failed. */
  public MoveRecord failed(String reason) {
    return with(Phase.FAILED, keyHash, new Result(reason, 0, 0, false), sessions);
  }

  /** Returns the record once its loser is free. */
  public MoveRecord clear() {
    return with(
        phase,
        keyHash,
        new Result(result.reason(), result.bytes(), result.pauseNanos(), true),
        sessions);
  }

  private MoveRecord with(
      Phase newPhase, @Nullable TokenHash newHash, Result newResult, List<String> newSessions) {
    return new MoveRecord(
        id, source, target, deadlineAtMillis, newHash, newPhase, newResult, newSessions);
  }
}
