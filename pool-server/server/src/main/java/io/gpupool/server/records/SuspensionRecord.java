// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.records.GrantRecord.PartRecord;
import java.util.List;

/**
 * The record of a lease that is suspended, or is about to be.
 *
 * @param id names the suspension, in messages and logs
 * @param part what the lease had of its GPU, and gets again
 * @param wakesOnCall whether a call of its programs resumes it
 * @param sinceMillis since 1970, when it was asked for
 * @param wantedAtMillis since 1970, when the lease was asked to resume; 0: it was not
 * @param sessions ids of those that are saved
 */
public record SuspensionRecord(
    String id,
    PartRecord part,
    boolean wakesOnCall,
    Phase phase,
    long sinceMillis,
    long wantedAtMillis,
    Result result,
    List<String> sessions) {
  public SuspensionRecord {
    sessions = List.copyOf(sessions);
  }

  /** The phases of a suspension. */
  public enum Phase {
    /** The lease's server has not begun yet. */
    ASKED,
    /** The sessions run, and are being saved. */
    SUSPENDING,
    /** All are saved, and execute nothing; their workers may still be alive. */
    SAVED,
    /** The share of the GPU is free. */
    SUSPENDED,
    /** The lease has a share again, and its sessions are being restored. */
    RESUMING,
    /** The sessions could not be saved, and go on. */
    FAILED
  }

  /**
   * What came of a suspension.
   *
   * @param reason for which it failed, or the lease is not resumed yet; empty: none
   * @param bytes of the saved sessions
   * @param pauseNanos of the session that stood still for longest before it was saved
   */
  public record Result(String reason, long bytes, long pauseNanos) {
    public static final Result NONE = new Result("", 0, 0);
  }

  /** Makes the record of a suspension that is asked for. */
  public static SuspensionRecord asked(
      String id, PartRecord part, boolean wakesOnCall, long nowMillis) {
    return new SuspensionRecord(
        id, part, wakesOnCall, Phase.ASKED, nowMillis, 0, Result.NONE, List.of());
  }

  /** Returns whether the sessions are in files, and not in workers that execute. */
  public boolean isSaved() {
    return switch (phase) {
      case SAVED, SUSPENDED, RESUMING -> true;
      case ASKED, SUSPENDING, FAILED -> false;
    };
  }

  /** Returns whether it is not known yet whether the sessions are saved. */
  public boolean isSaving() {
    return phase == Phase.ASKED || phase == Phase.SUSPENDING;
  }

  /** Returns whether the lease goes on as if nothing had been asked. */
  public boolean isOver() {
    return phase == Phase.FAILED;
  }

  public boolean isWanted() {
    return wantedAtMillis != 0;
  }

  /** Returns the record in another phase. */
  public SuspensionRecord in(Phase next) {
    return with(next, wantedAtMillis, result, sessions);
  }

  /** Returns the record once all sessions are saved. */
  public SuspensionRecord saved(List<String> savedSessions, long bytes, long pauseNanos) {
    return with(Phase.SAVED, wantedAtMillis, new Result("", bytes, pauseNanos), savedSessions);
  }

  /** Returns the record of a lease that is asked to resume. */
  public SuspensionRecord wanted(long nowMillis) {
    return with(phase, isWanted() ? wantedAtMillis : nowMillis, result, sessions);
  }

  /** Returns the record with a reason. */
  public SuspensionRecord because(String reason) {
    return with(
        phase, wantedAtMillis, new Result(reason, result.bytes(), result.pauseNanos()), sessions);
  }

  /** Returns the record without a session whose program has left. */
  public SuspensionRecord without(String session) {
    return with(
        phase,
        wantedAtMillis,
        result,
        sessions.stream().filter(id -> !id.equals(session)).toList());
  }

  private SuspensionRecord with(
      Phase otherPhase, long otherWanted, Result otherResult, List<String> otherSessions) {
    return new SuspensionRecord(
        id, part, wakesOnCall, otherPhase, sinceMillis, otherWanted, otherResult, otherSessions);
  }
}
