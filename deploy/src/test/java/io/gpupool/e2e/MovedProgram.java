// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A running program whose lease moves: it accumulates in device memory and compares all of it.
 *
 * @param processes so many, each with a session of the one lease
 * @param byAgent whether the agent holds the lease, not {@code gpupool run}
 */
record MovedProgram(Program program, int processes, boolean byAgent) implements AutoCloseable {
  private static final Duration ENDING = Duration.ofMinutes(2);
  private static final Pattern REASON = Pattern.compile("gpupool: .*(session is lost|lease).*: .+");

  /** Waits for its end; its results are right, or it has ended with an error and a reason. */
  boolean awaitResults() {
    program.endInput();
    Program.Ended ended = program.awaitEnd(ENDING);
    String all = ended.output();
    assertThat(all).as(program.report()).doesNotContain(", not ").doesNotContain("no memory");
    long right = all.lines().filter(line -> line.startsWith("accumulated: OK")).count();
    if (ended.status() == 0) {
      assertThat(right).as(program.report()).isEqualTo(processes);
      return true;
    }
    return false;
  }

  /** Fails unless it has said why it has ended. */
  void requireReason() {
    assertThat(program.errors().lines().filter(line -> REASON.matcher(line).find()))
        .as(program.report())
        .isNotEmpty();
  }

  /** Returns whether a lease is on a GPU. */
  static boolean isAt(LeaseInfo lease, String server, int gpu) {
    Grant grant = lease.getGrants(0).getGrant();
    return grant.getServer().equals(server) && grant.getGpu() == gpu;
  }

  /** Returns whether all its processes have sessions that are attached. */
  boolean isServedBy(List<SessionInfo> sessions) {
    return sessions.size() == processes
        && sessions.stream()
            .allMatch(session -> session.getState() == SessionInfo.State.STATE_ATTACHED);
  }

  @Override
  public void close() {
    program.close();
  }
}
