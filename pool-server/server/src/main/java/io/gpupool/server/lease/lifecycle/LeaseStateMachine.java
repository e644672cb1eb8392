// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import static io.gpupool.server.lease.lifecycle.LeaseEffect.ANNOUNCE_ROOM;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.END_SESSIONS;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.FORGET;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.FREE;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.FREE_FORMER;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.NOTIFY_HOLDERS;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.RECORD_END;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.RECORD_HOLDER;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.REDIRECT_HOLDERS;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.RETRY_FREE;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.RETRY_TELL;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.TELL_HOME;
import static io.gpupool.server.lease.lifecycle.LeaseEffect.UNLIST;
import static io.gpupool.server.lease.lifecycle.LeaseFact.ANSWERS_FOR_HOLDER;
import static io.gpupool.server.lease.lifecycle.LeaseFact.HELD_ELSEWHERE;
import static io.gpupool.server.lease.lifecycle.LeaseFact.HELD_HERE;
import static io.gpupool.server.lease.lifecycle.LeaseFact.HOME;
import static io.gpupool.server.lease.lifecycle.LeaseFact.HOME_ALIVE;
import static io.gpupool.server.lease.lifecycle.LeaseFact.IN_USE;
import static io.gpupool.server.lease.lifecycle.LeaseFact.RECORDED_HERE;
import static io.gpupool.server.lease.lifecycle.LeaseFact.REMOTE;
import static io.gpupool.server.lease.lifecycle.LeaseFact.RENEWABLE;
import static io.gpupool.server.lease.model.LeaseState.Phase.ENDING;
import static io.gpupool.server.lease.model.LeaseState.Phase.GONE;
import static io.gpupool.server.lease.model.LeaseState.Phase.GRACE;
import static io.gpupool.server.lease.model.LeaseState.Phase.HELD;
import static io.gpupool.server.lease.model.LeaseState.Phase.MOVED;
import static io.gpupool.server.lease.model.LeaseState.Phase.RETURNING;

import io.gpupool.server.lease.model.GraceReason;
import io.gpupool.server.lease.model.LeaseState;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The state machine of a lease: a pure function of state, event and facts. The first row of the
 * table that applies decides; where none does, nothing changes. {@code
 * docs/design/lease-lifecycle.md} shows the table to people.
 */
final class LeaseStateMachine {
  static final List<Transition> TABLE =
      List.of(
          Transition.from(HELD, LeaseEvent.HOLDER_CAME).to(HELD, RECORD_HOLDER),
          Transition.from(HELD, LeaseEvent.RECORD_DUE).when(HELD_HERE).to(HELD, RECORD_HOLDER),
          Transition.from(HELD, LeaseEvent.HOLDER_LEFT)
              .when(RENEWABLE, HOME_ALIVE)
              .unless(HOME)
              .to(RETURNING, TELL_HOME),
          Transition.from(HELD, LeaseEvent.HOLDER_LEFT)
              .when(RENEWABLE)
              .toGrace(GraceReason.NOT_RENEWED),
          Transition.from(HELD, LeaseEvent.HOLDER_LEFT).toGrace(GraceReason.HOLDER_LEFT),
          Transition.from(HELD, LeaseEvent.HOLDER_LOST)
              .when(RENEWABLE, HOME_ALIVE)
              .unless(HOME)
              .to(RETURNING, TELL_HOME),
          Transition.from(HELD, LeaseEvent.HOLDER_LOST)
              .when(RENEWABLE)
              .toGrace(GraceReason.NOT_RENEWED),
          Transition.from(HELD, LeaseEvent.HOLDER_LOST).toGrace(GraceReason.HOLDER_LOST),
          Transition.from(HELD, LeaseEvent.RESTORED)
              .unless(HELD_ELSEWHERE)
              .toGrace(GraceReason.SERVER_RESTARTED),
          Transition.from(HELD, LeaseEvent.ADOPTED)
              .when(ANSWERS_FOR_HOLDER)
              .unless(HELD_ELSEWHERE)
              .toGrace(GraceReason.NEVER_HELD),
          Transition.from(HELD, LeaseEvent.HOLDER_RECORDED)
              .when(HOME, RENEWABLE, RECORDED_HERE)
              .unless(HELD_HERE)
              .toGrace(GraceReason.NOT_RENEWED),
          Transition.from(HELD, LeaseEvent.RECONCILED)
              .when(REMOTE, HELD_ELSEWHERE)
              .unless(HELD_HERE)
              .to(GONE, FORGET),
          Transition.from(HELD, LeaseEvent.RECONCILED)
              .when(ANSWERS_FOR_HOLDER)
              .unless(HELD_HERE, HELD_ELSEWHERE)
              .toGrace(GraceReason.HOLDERS_SERVER_GONE),
          Transition.from(HELD, LeaseEvent.SERVER_LEAVES)
              .when(REMOTE)
              .to(GONE, REDIRECT_HOLDERS, FORGET),
          Transition.from(HELD, LeaseEvent.MOVED_AWAY)
              .when(REMOTE)
              .to(GONE, REDIRECT_HOLDERS, FORGET),
          Transition.from(HELD, LeaseEvent.MOVED_AWAY)
              .to(MOVED, UNLIST, REDIRECT_HOLDERS, END_SESSIONS),
          Transition.from(HELD, LeaseEvent.END)
              .to(ENDING, RECORD_END, NOTIFY_HOLDERS, END_SESSIONS),
          Transition.from(HELD, LeaseEvent.END_RECORDED).to(ENDING, NOTIFY_HOLDERS, END_SESSIONS),
          Transition.from(RETURNING, LeaseEvent.HOLDER_CAME).to(HELD, RECORD_HOLDER),
          Transition.from(RETURNING, LeaseEvent.HOME_TOLD).when(REMOTE).to(GONE, FORGET),
          Transition.from(RETURNING, LeaseEvent.HOME_TOLD).to(HELD),
          Transition.from(RETURNING, LeaseEvent.HOME_NOT_TOLD).to(RETURNING, RETRY_TELL),
          Transition.from(RETURNING, LeaseEvent.TELL_DUE).when(HOME_ALIVE).to(RETURNING, TELL_HOME),
          Transition.from(RETURNING, LeaseEvent.TELL_DUE).toGrace(GraceReason.NOT_RENEWED),
          Transition.from(RETURNING, LeaseEvent.RECONCILED).when(HELD_ELSEWHERE).to(HELD),
          Transition.from(RETURNING, LeaseEvent.SERVER_LEAVES).when(REMOTE).to(GONE, FORGET),
          Transition.from(RETURNING, LeaseEvent.MOVED_AWAY).when(REMOTE).to(GONE, FORGET),
          Transition.from(RETURNING, LeaseEvent.MOVED_AWAY).to(MOVED, UNLIST, END_SESSIONS),
          Transition.from(RETURNING, LeaseEvent.END).to(ENDING, RECORD_END, END_SESSIONS),
          Transition.from(RETURNING, LeaseEvent.END_RECORDED).to(ENDING, END_SESSIONS),
          Transition.from(GRACE, LeaseEvent.HOLDER_CAME).to(HELD, RECORD_HOLDER),
          Transition.from(GRACE, LeaseEvent.GRACE_OVER).when(RENEWABLE, IN_USE).to(GRACE),
          Transition.from(GRACE, LeaseEvent.GRACE_OVER)
              .unless(HELD_ELSEWHERE)
              .to(ENDING, RECORD_END, END_SESSIONS),
          Transition.from(GRACE, LeaseEvent.GRACE_OVER).when(REMOTE).to(GONE, FORGET),
          Transition.from(GRACE, LeaseEvent.GRACE_OVER).to(HELD),
          Transition.from(GRACE, LeaseEvent.SESSIONS_GONE)
              .when(RENEWABLE)
              .toGrace(GraceReason.NOT_RENEWED),
          Transition.from(GRACE, LeaseEvent.HOLDER_RECORDED)
              .when(HOME, RENEWABLE, RECORDED_HERE)
              .toGrace(GraceReason.NOT_RENEWED),
          Transition.from(GRACE, LeaseEvent.RECONCILED).when(HELD_ELSEWHERE).to(HELD),
          Transition.from(GRACE, LeaseEvent.SERVER_LEAVES).when(REMOTE).to(GONE, FORGET),
          Transition.from(GRACE, LeaseEvent.MOVED_AWAY).when(REMOTE).to(GONE, FORGET),
          Transition.from(GRACE, LeaseEvent.MOVED_AWAY).to(MOVED, UNLIST, END_SESSIONS),
          Transition.from(GRACE, LeaseEvent.END).to(ENDING, RECORD_END, END_SESSIONS),
          Transition.from(GRACE, LeaseEvent.END_RECORDED).to(ENDING, END_SESSIONS),
          Transition.from(ENDING, LeaseEvent.HOLDER_CAME).to(ENDING, NOTIFY_HOLDERS),
          Transition.from(ENDING, LeaseEvent.SESSIONS_GONE).when(REMOTE).to(GONE, FORGET),
          Transition.from(ENDING, LeaseEvent.SESSIONS_GONE).to(ENDING, FREE),
          Transition.from(ENDING, LeaseEvent.FREED).to(GONE, FORGET, ANNOUNCE_ROOM),
          Transition.from(ENDING, LeaseEvent.NOT_FREED).to(ENDING, RETRY_FREE),
          Transition.from(ENDING, LeaseEvent.FREE_DUE).to(ENDING, FREE),
          Transition.from(MOVED, LeaseEvent.SESSIONS_GONE).to(MOVED, FREE_FORMER),
          Transition.from(MOVED, LeaseEvent.FREED).to(GONE, FORGET, ANNOUNCE_ROOM),
          Transition.from(MOVED, LeaseEvent.NOT_FREED).to(MOVED, RETRY_FREE),
          Transition.from(MOVED, LeaseEvent.FREE_DUE).to(MOVED, FREE_FORMER));

  private LeaseStateMachine() {}

  /** The state after an event, and the effects in their order. */
  record Step(LeaseState state, List<LeaseEffect> effects) {}

  /**
   * Decides what follows from an event.
   *
   * @param facts those that hold; asked for only if the event matters in this state
   * @param reason of the end, if the event is one
   */
  static Step next(
      LeaseState state, LeaseEvent event, Supplier<Set<LeaseFact>> facts, String reason) {
    List<Transition> rows =
        TABLE.stream().filter(row -> row.from() == state.phase() && row.on() == event).toList();
    if (rows.isEmpty()) {
      return new Step(state, List.of());
    }
    Set<LeaseFact> now = facts.get();
    return rows.stream()
        .filter(row -> row.applies(now))
        .findFirst()
        .map(row -> new Step(target(row, state, reason), row.effects()))
        .orElse(new Step(state, List.of()));
  }

  private static LeaseState target(Transition row, LeaseState before, String reason) {
    return switch (row.to()) {
      case HELD -> new LeaseState.Held();
      case RETURNING -> new LeaseState.Returning();
      case GRACE -> row.grace() == null ? before : new LeaseState.Grace(row.grace());
      case ENDING -> ending(before, reason);
      case MOVED -> new LeaseState.Moved();
      case GONE -> new LeaseState.Gone();
    };
  }

  private static LeaseState ending(LeaseState before, String reason) {
    return switch (before) {
      case LeaseState.Ending ending -> ending;
      case LeaseState.Grace(GraceReason grace) when reason.isEmpty() ->
          new LeaseState.Ending(grace.text());
      case LeaseState.Held held -> new LeaseState.Ending(reason);
      case LeaseState.Returning returning -> new LeaseState.Ending(reason);
      case LeaseState.Grace grace -> new LeaseState.Ending(reason);
      case LeaseState.Moved moved -> new LeaseState.Ending(reason);
      case LeaseState.Gone gone -> new LeaseState.Ending(reason);
    };
  }
}
