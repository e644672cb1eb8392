// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.lease.model.GraceReason;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.model.LeaseState.Phase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table of transitions, row by row and in all that can happen. */
class LeaseStateMachineTest {
  private static final Path PAGE = Path.of("../../docs/design/lease-lifecycle.md");
  private static final String REASON = "released";

  @Test
  void table_inTheDocs_isTheOneInTheCode() throws IOException {
    assertThat(Files.readString(PAGE)).contains(table());
  }

  @Test
  void diagram_inTheDocs_isTheOneInTheCode() throws IOException {
    assertThat(Files.readString(PAGE)).contains(diagram());
  }

  @Test
  void row_each_isTheFirstToApplyForSomeFacts() {
    for (Transition row : LeaseStateMachine.TABLE) {
      assertThat(factSets())
          .as("a row above hides %s", row)
          .anyMatch(facts -> first(row.from(), row.on(), facts).filter(row::equals).isPresent());
    }
  }

  @Test
  void event_each_mattersInSomeState() {
    assertThat(LeaseEvent.values())
        .allMatch(event -> LeaseStateMachine.TABLE.stream().anyMatch(row -> row.on() == event));
  }

  @Test
  void next_ofAnyStateAndFacts_keepsTheRulesOfALease() {
    everyStep((before, event, facts, step) -> {
      Phase to = step.state().phase();
      if (before.phase() == Phase.GONE) {
        assertThat(step.effects()).isEmpty();
        assertThat(to).isEqualTo(Phase.GONE);
      }
      if (before.phase() == Phase.ENDING) {
        assertThat(to).isIn(Phase.ENDING, Phase.GONE);
      }
      if (before.phase() == Phase.MOVED) {
        assertThat(to).isIn(Phase.MOVED, Phase.GONE);
        assertThat(step.effects())
            .as("the lease goes on elsewhere")
            .doesNotContain(LeaseEffect.RECORD_END, LeaseEffect.FREE);
      }
      if (to != before.phase()) {
        assertThat(step.effects().contains(LeaseEffect.FORGET)).isEqualTo(to == Phase.GONE);
        assertThat(step.effects().contains(LeaseEffect.START_GRACE)).isEqualTo(to == Phase.GRACE);
        // Sessions may end at once, which is an event of its own.
        assertThat(step.effects().indexOf(LeaseEffect.END_SESSIONS))
            .isEqualTo(to == Phase.ENDING || to == Phase.MOVED ? step.effects().size() - 1 : -1);
      }
      if (event == LeaseEvent.HOLDER_CAME && before.isAlive()) {
        assertThat(to).isEqualTo(Phase.HELD);
      }
      if (event == LeaseEvent.END && before.isAlive()) {
        assertThat(step.state()).isEqualTo(new LeaseState.Ending(REASON));
        assertThat(step.effects()).contains(LeaseEffect.RECORD_END);
      }
      if (before.phase() == Phase.GRACE
          && event == LeaseEvent.GRACE_OVER
          && facts.contains(LeaseFact.HELD_ELSEWHERE)) {
        assertThat(to).isNotEqualTo(Phase.ENDING);
      }
      if (to == Phase.GONE && before.phase() != Phase.GONE && before.isAlive()) {
        assertThat(facts).as("only a lease of other servers' GPUs").contains(LeaseFact.REMOTE);
      }
    });
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      textBlock =
          """
          HELD      | HOLDER_LEFT     | HOME                            | GRACE     | START_GRACE
          HELD      | HOLDER_LEFT     | RENEWABLE HOME HOME_ALIVE       | GRACE     | START_GRACE
          HELD      | HOLDER_LEFT     | RENEWABLE REMOTE HOME_ALIVE     | RETURNING | TELL_HOME
          HELD      | HOLDER_LEFT     | RENEWABLE REMOTE                | GRACE     | START_GRACE
          HELD      | HOLDER_LEFT     | REMOTE HOME_ALIVE               | GRACE     | START_GRACE
          HELD      | HOLDER_LOST     | HOME                            | GRACE     | START_GRACE
          HELD      | HOLDER_LOST     | RENEWABLE HOME HOME_ALIVE       | GRACE     | START_GRACE
          HELD      | HOLDER_LOST     | RENEWABLE REMOTE HOME_ALIVE     | RETURNING | TELL_HOME
          HELD      | RESTORED        | HELD_ELSEWHERE                  | HELD      | -
          HELD      | RESTORED        | HOME                            | GRACE     | START_GRACE
          HELD      | ADOPTED         | HOME ANSWERS_FOR_HOLDER         | GRACE     | START_GRACE
          HELD      | ADOPTED         | -                               | HELD      | -
          HELD      | HOLDER_RECORDED | HOME RENEWABLE RECORDED_HERE    | GRACE     | START_GRACE
          HELD      | HOLDER_RECORDED | HOME RENEWABLE RECORDED_HERE HELD_HERE | HELD | -
          HELD      | HOLDER_RECORDED | HOME RECORDED_HERE              | HELD      | -
          HELD      | RECONCILED      | REMOTE HELD_ELSEWHERE           | GONE      | FORGET
          HELD      | RECONCILED      | REMOTE HELD_ELSEWHERE HELD_HERE | HELD      | -
          HELD      | RECONCILED      | HOME ANSWERS_FOR_HOLDER         | GRACE     | START_GRACE
          HELD      | RECONCILED      | HOME ANSWERS_FOR_HOLDER HELD_HERE | HELD    | -
          HELD      | SESSIONS_GONE   | HOME                            | HELD      | -
          HELD      | SERVER_LEAVES   | HOME                            | HELD      | -
          HELD      | SERVER_LEAVES   | REMOTE                          | GONE      | REDIRECT_HOLDERS FORGET
          HELD      | RECORD_DUE      | -                               | HELD      | -
          RETURNING | HOME_TOLD       | REMOTE                          | GONE      | FORGET
          RETURNING | HOME_TOLD       | -                               | HELD      | -
          RETURNING | TELL_DUE        | HOME_ALIVE                      | RETURNING | TELL_HOME
          RETURNING | TELL_DUE        | -                               | GRACE     | START_GRACE
          RETURNING | HOLDER_CAME     | -                               | HELD      | RECORD_HOLDER
          GRACE     | GRACE_OVER      | RENEWABLE IN_USE                | GRACE     | -
          GRACE     | GRACE_OVER      | IN_USE                          | ENDING    | RECORD_END END_SESSIONS
          GRACE     | GRACE_OVER      | HELD_ELSEWHERE                  | HELD      | -
          GRACE     | GRACE_OVER      | HELD_ELSEWHERE REMOTE           | GONE      | FORGET
          GRACE     | SESSIONS_GONE   | RENEWABLE                       | GRACE     | START_GRACE
          GRACE     | SESSIONS_GONE   | -                               | GRACE     | -
          GRACE     | END_RECORDED    | -                               | ENDING    | END_SESSIONS
          HELD      | END_RECORDED    | HELD_HERE                       | ENDING    | NOTIFY_HOLDERS END_SESSIONS
          ENDING    | HOLDER_CAME     | HELD_HERE                       | ENDING    | NOTIFY_HOLDERS
          ENDING    | END             | -                               | ENDING    | -
          ENDING    | SESSIONS_GONE   | REMOTE                          | GONE      | FORGET
          ENDING    | SESSIONS_GONE   | -                               | ENDING    | FREE
          ENDING    | NOT_FREED       | -                               | ENDING    | RETRY_FREE
          ENDING    | FREE_DUE        | -                               | ENDING    | FREE
          ENDING    | FREED           | -                               | GONE      | FORGET ANNOUNCE_ROOM
          HELD      | MOVED_AWAY      | REMOTE HELD_HERE                | GONE      | REDIRECT_HOLDERS FORGET
          HELD      | MOVED_AWAY      | HOME HELD_HERE                  | MOVED     | UNLIST REDIRECT_HOLDERS END_SESSIONS
          GRACE     | MOVED_AWAY      | HOME                            | MOVED     | UNLIST END_SESSIONS
          ENDING    | MOVED_AWAY      | HOME                            | ENDING    | -
          MOVED     | HOLDER_CAME     | HELD_HERE                       | MOVED     | -
          MOVED     | SESSIONS_GONE   | -                               | MOVED     | FREE_FORMER
          MOVED     | FREED           | -                               | GONE      | FORGET ANNOUNCE_ROOM
          GONE      | GRACE_OVER      | -                               | GONE      | -
          GONE      | HOLDER_CAME     | HELD_HERE                       | GONE      | -
          """)
  void next_ofOneCase_isAsExpected(
      Phase from, LeaseEvent event, String facts, Phase to, String effects) {
    LeaseStateMachine.Step step =
        LeaseStateMachine.next(state(from), event, () -> parse(facts), REASON);
    assertThat(step.state().phase()).isEqualTo(to);
    assertThat(step.effects())
        .containsExactlyElementsOf(words(effects).stream().map(LeaseEffect::valueOf).toList());
  }

  @Test
  void next_afterGrace_endsForTheReasonOfTheGrace() {
    LeaseState grace = new LeaseState.Grace(GraceReason.NOT_RENEWED);
    assertThat(LeaseStateMachine.next(grace, LeaseEvent.GRACE_OVER, Set::of, "").state())
        .isEqualTo(new LeaseState.Ending("its holder did not renew it"));
  }

  private interface Rule {
    void check(
        LeaseState before, LeaseEvent event, Set<LeaseFact> facts, LeaseStateMachine.Step step);
  }

  private static void everyStep(Rule rule) {
    List<Set<LeaseFact>> all = factSets();
    for (Phase phase : Phase.values()) {
      for (LeaseEvent event : LeaseEvent.values()) {
        for (Set<LeaseFact> facts : all) {
          LeaseState before = state(phase);
          rule.check(
              before, event, facts, LeaseStateMachine.next(before, event, () -> facts, REASON));
        }
      }
    }
  }

  private static Optional<Transition> first(Phase from, LeaseEvent on, Set<LeaseFact> facts) {
    return LeaseStateMachine.TABLE.stream()
        .filter(row -> row.from() == from && row.on() == on && row.applies(facts))
        .findFirst();
  }

  private static List<Set<LeaseFact>> factSets() {
    List<Set<LeaseFact>> sets = new ArrayList<>();
    LeaseFact[] facts = LeaseFact.values();
    for (int bits = 0; bits < 1 << facts.length; bits++) {
      Set<LeaseFact> set = EnumSet.noneOf(LeaseFact.class);
      for (int i = 0; i < facts.length; i++) {
        if ((bits & 1 << i) != 0) {
          set.add(facts[i]);
        }
      }
      sets.add(set);
    }
    return sets;
  }

  private static LeaseState state(Phase phase) {
    return switch (phase) {
      case HELD -> new LeaseState.Held();
      case RETURNING -> new LeaseState.Returning();
      case GRACE -> new LeaseState.Grace(GraceReason.HOLDER_LEFT);
      case ENDING -> new LeaseState.Ending(REASON);
      case MOVED -> new LeaseState.Moved();
      case GONE -> new LeaseState.Gone();
    };
  }

  private static Set<LeaseFact> parse(String facts) {
    Set<LeaseFact> set = EnumSet.noneOf(LeaseFact.class);
    words(facts).forEach(word -> set.add(LeaseFact.valueOf(word)));
    return set;
  }

  private static List<String> words(String text) {
    return text == null ? List.of() : Arrays.asList(text.split(" "));
  }

  /** The table as the page shows it. */
  private static String table() {
    StringBuilder text = new StringBuilder();
    text.append("| state | event | when | next | effects |\n|---|---|---|---|---|\n");
    for (Transition row : LeaseStateMachine.TABLE) {
      String grace =
          Optional.ofNullable(row.grace()).map(reason -> " (" + plain(reason) + ")").orElse("");
      text.append("| ")
          .append(plain(row.from()))
          .append(" | ")
          .append(plain(row.on()))
          .append(" | ")
          .append(conditions(row))
          .append(" | ")
          .append(plain(row.to()))
          .append(grace)
          .append(" | ")
          .append(
              row.effects().stream()
                  .map(LeaseStateMachineTest::plain)
                  .collect(Collectors.joining(", ")))
          .append(" |\n");
    }
    return text.toString();
  }

  private static String conditions(Transition row) {
    return Stream.concat(
            row.when().stream().sorted().map(LeaseFact::toString),
            row.unless().stream().sorted().map(fact -> "not " + fact))
        .collect(Collectors.joining(", "));
  }

  /** The changes of state as a Mermaid diagram. */
  private static String diagram() {
    StringBuilder text = new StringBuilder("stateDiagram-v2\n  [*] --> held\n");
    for (Phase from : Phase.values()) {
      for (Phase to : Phase.values()) {
        String events =
            LeaseStateMachine.TABLE.stream()
                .filter(row -> row.from() == from && row.to() == to && from != to)
                .map(row -> plain(row.on()))
                .distinct()
                .collect(Collectors.joining(", "));
        if (!events.isEmpty()) {
          text.append("  %s --> %s: %s\n".formatted(plain(from), plain(to), events));
        }
      }
    }
    return text.append("  gone --> [*]\n").toString();
  }

  private static String plain(Enum<?> name) {
    return name.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
