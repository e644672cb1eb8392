// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.tenant.WrongTokens.Answer;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class WrongTokensTest {
  private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

  private final WrongTokens wrong = new WrongTokens();

  @Test
  void note_manyFromOneAddress_answersComeLateAndOtherAddressesAtOnce() {
    for (int i = 0; i < 60; i++) {
      assertThat(wrong.note(from("192.0.2.1", 1000 + i), 0)).isEqualTo(Answer.NOW);
    }
    for (int i = 0; i < 32; i++) {
      assertThat(wrong.note(from("192.0.2.1", 2000 + i), 1)).isEqualTo(Answer.LATE);
    }
    assertThat(wrong.note(from("192.0.2.1", 1), 2)).isEqualTo(Answer.TOO_MANY);
    assertThat(wrong.note(from("192.0.2.2", 1), 2)).isEqualTo(Answer.NOW);
    wrong.answered();
    assertThat(wrong.note(from("192.0.2.1", 1), 2)).isEqualTo(Answer.LATE);
    assertThat(wrong.note(from("192.0.2.1", 1), 2 + MINUTE)).isEqualTo(Answer.NOW);
  }

  private static Optional<SocketAddress> from(String address, int port) {
    return Optional.of(new InetSocketAddress(address, port));
  }
}
