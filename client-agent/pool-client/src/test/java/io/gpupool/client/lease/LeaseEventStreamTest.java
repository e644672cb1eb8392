// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.client.lease.LeaseEventStream.State;
import io.gpupool.control.v1.Ended;
import io.gpupool.control.v1.Held;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Refused;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class LeaseEventStreamTest {
  private final List<String> heard = new ArrayList<>();
  private final LeaseEventStream stream = new LeaseEventStream(new Recording());

  /** The events that the table of transitions names. */
  enum Step {
    QUEUED(stream -> stream.onEvent(event().setQueued(Queued.newBuilder().setPosition(3)).build())),
    GRANTED(stream -> stream.onEvent(event().setGranted(Lease.newBuilder().setId("L1")).build())),
    HELD(stream -> stream.onEvent(event().setHeld(Held.getDefaultInstance()).build())),
    REFUSED(
        stream -> stream.onEvent(event().setRefused(Refused.newBuilder().setWanted("no")).build())),
    ENDED(stream -> stream.onEvent(event().setEnded(Ended.newBuilder().setReason("over")).build())),
    UNKNOWN(stream -> stream.onEvent(LeaseEvent.getDefaultInstance())),
    FAILED(stream -> stream.onClose(Status.UNAVAILABLE.withDescription("gone"))),
    COMPLETED(stream -> stream.onClose(Status.OK));

    private final Consumer<LeaseEventStream> take;

    Step(Consumer<LeaseEventStream> take) {
      this.take = take;
    }

    private static LeaseEvent.Builder event() {
      return LeaseEvent.newBuilder();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "OPEN,   QUEUED,    QUEUED, queued 3",
    "OPEN,   GRANTED,   HELD,   granted L1",
    "OPEN,   HELD,      HELD,   held",
    "OPEN,   REFUSED,   CLOSED, refused no",
    "OPEN,   ENDED,     CLOSED, ended over",
    "OPEN,   UNKNOWN,   OPEN,",
    "OPEN,   FAILED,    CLOSED, broken UNAVAILABLE gone",
    "OPEN,   COMPLETED, CLOSED, broken INTERNAL it has closed the request without an answer",
    "QUEUED, QUEUED,    QUEUED, queued 3",
    "QUEUED, GRANTED,   HELD,   granted L1",
    "QUEUED, REFUSED,   CLOSED, refused no",
    "QUEUED, ENDED,     CLOSED, ended over",
    "QUEUED, UNKNOWN,   QUEUED,",
    "QUEUED, FAILED,    CLOSED, broken UNAVAILABLE gone",
    "QUEUED, COMPLETED, CLOSED, broken INTERNAL it has closed the request without an answer",
    "HELD,   ENDED,     CLOSED, ended over",
    "HELD,   UNKNOWN,   HELD,",
    "HELD,   FAILED,    CLOSED, broken UNAVAILABLE gone",
    "HELD,   COMPLETED, CLOSED, broken INTERNAL it has closed the request without an answer",
  })
  void event_inAState_leadsToTheNext(State from, Step step, State to, String told) {
    bringTo(from);
    step.take.accept(stream);
    assertThat(stream.state()).isEqualTo(to);
    assertThat(heard).isEqualTo(told == null ? List.of() : List.of(told));
  }

  @ParameterizedTest
  @EnumSource
  void event_afterTheEnd_isNotHeard(Step step) {
    bringTo(State.CLOSED);
    step.take.accept(stream);
    assertThat(stream.state()).isEqualTo(State.CLOSED);
    assertThat(heard).isEmpty();
  }

  @Test
  void refusal_closedByThePool_isTheOnlyEnd() {
    Step.REFUSED.take.accept(stream);
    Step.COMPLETED.take.accept(stream);
    assertThat(heard).containsExactly("refused no");
  }

  private void bringTo(State state) {
    switch (state) {
      case OPEN -> {}
      case QUEUED -> Step.QUEUED.take.accept(stream);
      case HELD -> Step.GRANTED.take.accept(stream);
      case CLOSED -> Step.ENDED.take.accept(stream);
    }
    assertThat(stream.state()).isEqualTo(state);
    heard.clear();
  }

  private final class Recording implements LeaseEventStream.Listener {
    @Override
    public void queued(Queued queued) {
      heard.add("queued " + queued.getPosition());
    }

    @Override
    public void granted(Lease lease) {
      heard.add("granted " + lease.getId());
    }

    @Override
    public void held() {
      heard.add("held");
    }

    @Override
    public void refused(Refused refusal) {
      heard.add("refused " + refusal.getWanted());
    }

    @Override
    public void ended(String reason) {
      heard.add("ended " + reason);
    }

    @Override
    public void broken(Status status) {
      heard.add("broken " + status.getCode() + " " + status.getDescription());
    }
  }
}
