// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.client.connection.PoolRequestException;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class UserConnectionsTest {
  private final UserConnections connections = new UserConnections(() -> 0);

  @Test
  void userWithManySilentOnes_losesItsOldest_andOthersLoseNone() {
    EmbeddedChannel other = enter(7);
    List<EmbeddedChannel> greedy = new ArrayList<>();
    for (int i = 0; i < UserConnections.MOST_SILENT + 10; i++) {
      greedy.add(enter(1000));
    }
    assertThat(greedy.subList(0, 10)).noneMatch(EmbeddedChannel::isOpen);
    assertThat(greedy.subList(10, greedy.size())).allMatch(EmbeddedChannel::isOpen);
    assertThat(other.isOpen()).isTrue();
    assertThatCode(() -> connections.ask(other)).doesNotThrowAnyException();
  }

  @Test
  void manyUsersWithSilentOnes_togetherLoseTheOldest() {
    EmbeddedChannel oldest = enter(7);
    for (int i = 1; i < UserConnections.MOST_SILENT_OF_ALL; i++) {
      enter(1000 + i % 100);
    }
    assertThat(oldest.isOpen()).isTrue();
    enter(8);
    assertThat(oldest.isOpen()).isFalse();
  }

  @Test
  void oneThatHasAsked_isNotDisplaced() {
    EmbeddedChannel asked = enter(1000);
    connections.ask(asked);
    for (int i = 0; i < 2 * UserConnections.MOST_SILENT; i++) {
      enter(1000);
    }
    assertThat(asked.isOpen()).isTrue();
  }

  @Test
  void userWithTooManyThatHaveAsked_isRefused_untilOneIsGone() {
    List<EmbeddedChannel> asked = new ArrayList<>();
    for (int i = 0; i < ConnectionShares.MOST; i++) {
      EmbeddedChannel channel = enter(1000);
      connections.ask(channel);
      asked.add(channel);
    }
    EmbeddedChannel last = enter(1000);
    assertThatThrownBy(() -> connections.ask(last))
        .isInstanceOf(PoolRequestException.class)
        .hasMessageContaining("the programs of this user have 1024 connections");
    EmbeddedChannel other = enter(7);
    assertThatCode(() -> connections.ask(other)).doesNotThrowAnyException();
    asked.getFirst().close();
    EmbeddedChannel next = enter(1000);
    assertThatCode(() -> connections.ask(next)).doesNotThrowAnyException();
  }

  private EmbeddedChannel enter(int uid) {
    EmbeddedChannel channel = new EmbeddedChannel();
    connections.enter(channel, new UserConnections.Peer(uid, 1));
    return channel;
  }
}
