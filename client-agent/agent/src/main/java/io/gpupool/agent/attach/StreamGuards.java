// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.wire.SessionId;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * A register of the guards of programs' streams by session, so that the stream with which a session
 * goes on is guarded in place of the one that broke. Runs on the agent's event loop.
 */
public final class StreamGuards {
  private final Map<SessionId, StreamGuard> guards = new HashMap<>();

  /** The latest guard counts: a program may have come back without its former connection. */
  void add(SessionId session, StreamGuard guard) {
    guards.put(session, guard);
  }

  void remove(SessionId session, StreamGuard guard) {
    guards.remove(session, guard);
  }

  /** Returns the guard of a session's program; empty if that has no connection to this agent. */
  Optional<StreamGuard> of(SessionId session) {
    return Optional.ofNullable(guards.get(session));
  }
}
