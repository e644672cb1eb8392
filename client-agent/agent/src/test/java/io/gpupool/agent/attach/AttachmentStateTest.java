// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.agent.attach.AttachmentState.AwaitingRequest;
import io.gpupool.agent.attach.AttachmentState.Closed;
import io.gpupool.agent.attach.AttachmentState.HandedOver;
import io.gpupool.agent.attach.AttachmentState.Opening;
import io.gpupool.agent.attach.AttachmentState.Relaying;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AttachmentStateTest {
  private final List<String> done = new ArrayList<>();

  /** The events of a connection. */
  enum Event {
    ANSWERED(AttachmentState::answered),
    OPENING(null),
    CONNECTED(state -> state.connected(false)),
    CONNECTED_RELAYED(state -> state.connected(true)),
    CLOSED(AttachmentState::closed);

    private final UnaryOperator<AttachmentState> take;

    Event(UnaryOperator<AttachmentState> take) {
      this.take = take;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "AwaitingRequest, ANSWERED,          Closed,     limit called off",
    "AwaitingRequest, OPENING,           Opening,    limit called off",
    "AwaitingRequest, CLOSED,            Closed,     limit called off",
    "Opening,         CONNECTED,         HandedOver,",
    "Opening,         CONNECTED_RELAYED, Relaying,",
    "Opening,         CLOSED,            Closed,     given back",
    "HandedOver,      CLOSED,            Closed,     given back",
    "Relaying,        CLOSED,            Closed,     given back",
    "Closed,          CLOSED,            Closed,",
  })
  void event_inAState_leadsToTheNext(String from, Event event, String to, String effect) {
    AttachmentState next = after(event, state(from));
    assertThat(next.getClass().getSimpleName()).isEqualTo(to);
    assertThat(done).isEqualTo(effect == null ? List.of() : List.of(effect));
  }

  @ParameterizedTest
  @CsvSource({
    "AwaitingRequest, CONNECTED",
    "AwaitingRequest, CONNECTED_RELAYED",
    "Opening,         ANSWERED",
    "Opening,         OPENING",
    "HandedOver,      ANSWERED",
    "HandedOver,      OPENING",
    "HandedOver,      CONNECTED",
    "Relaying,        ANSWERED",
    "Relaying,        OPENING",
    "Relaying,        CONNECTED_RELAYED",
    "Closed,          ANSWERED",
    "Closed,          OPENING",
    "Closed,          CONNECTED",
  })
  void event_thatCannotBe_isRefusedWithoutAnEffect(String from, Event event) {
    assertThatThrownBy(() -> after(event, state(from))).isInstanceOf(IllegalStateException.class);
    assertThat(done).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"CONNECTED", "CONNECTED_RELAYED"})
  void resources_ofOpenedSessions_areGivenBackOnce(Event connected) {
    AttachmentState state = after(connected, after(Event.OPENING, state("AwaitingRequest")));
    done.clear();
    assertThat(after(Event.CLOSED, after(Event.CLOSED, state))).isInstanceOf(Closed.class);
    assertThat(done).containsExactly("given back");
  }

  private AttachmentState after(Event event, AttachmentState state) {
    return event == Event.OPENING
        ? state.opening(() -> done.add("given back"))
        : event.take.apply(state);
  }

  private AttachmentState state(String name) {
    Runnable giveBack = () -> done.add("given back");
    return switch (name) {
      case "AwaitingRequest" -> new AwaitingRequest(() -> done.add("limit called off"));
      case "Opening" -> new Opening(giveBack);
      case "HandedOver" -> new HandedOver(giveBack);
      case "Relaying" -> new Relaying(giveBack);
      default -> new Closed();
    };
  }
}
