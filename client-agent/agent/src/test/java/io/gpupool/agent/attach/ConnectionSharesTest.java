// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.client.connection.PoolRequestException;
import org.junit.jupiter.api.Test;

class ConnectionSharesTest {
  private final ConnectionShares connections = ConnectionShares.ofPods();

  @Test
  void podWithTooMany_isRefused_andLeavesRoomForOthers() {
    for (int i = 0; i < ConnectionShares.MOST; i++) {
      connections.enter("greedy");
    }
    assertThatThrownBy(() -> connections.enter("greedy"))
        .isInstanceOf(PoolRequestException.class)
        .hasMessageContaining("connections to the node's agent already");
    assertThatCode(() -> connections.enter("other")).doesNotThrowAnyException();
    connections.leave("greedy");
    assertThatCode(() -> connections.enter("greedy")).doesNotThrowAnyException();
    assertThatThrownBy(() -> connections.enter("greedy")).isInstanceOf(PoolRequestException.class);
  }

  @Test
  void severalPodsWithMany_togetherToo_leaveRoomForOthers() {
    for (int i = 0; i < ConnectionShares.MANY; i++) {
      connections.enter("greedy-" + i % 4);
    }
    assertThatThrownBy(() -> connections.enter("greedy-0"))
        .isInstanceOf(PoolRequestException.class);
    for (int i = 0; i < ConnectionShares.FEW; i++) {
      connections.enter("other");
    }
    assertThatThrownBy(() -> connections.enter("other")).isInstanceOf(PoolRequestException.class);
    connections.leave("greedy-1");
    assertThatCode(() -> connections.enter("another")).doesNotThrowAnyException();
  }

  @Test
  void refused_tooManyAtATime_areNotHeardAny() {
    for (int i = 0; i < ConnectionShares.MOST_REFUSED; i++) {
      assertThat(connections.enterRefused()).isTrue();
    }
    assertThat(connections.enterRefused()).isFalse();
    connections.leave(ConnectionShares.REFUSED);
    assertThat(connections.enterRefused()).isTrue();
    assertThat(connections.enterRefused()).isFalse();
  }
}
