// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.tenant.AuthFailureThrottle.Answer;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class AuthFailureThrottleTest {
  private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

  private final AtomicLong nowNanos = new AtomicLong();
  private final AuthFailureThrottle wrong = new AuthFailureThrottle(nowNanos::get);

  @Test
  void note_manyFromOneAddress_answersComeLateAndOtherAddressesAtOnce() {
    for (int i = 0; i < 60; i++) {
      assertThat(wrong.note(from("192.0.2.1", 1000 + i).orElse(null))).isEqualTo(Answer.NOW);
    }
    nowNanos.set(1);
    for (int i = 0; i < 32; i++) {
      assertThat(wrong.note(from("192.0.2.1", 2000 + i).orElse(null))).isEqualTo(Answer.LATE);
    }
    nowNanos.set(2);
    assertThat(wrong.note(from("192.0.2.1", 1).orElse(null))).isEqualTo(Answer.TOO_MANY);
    assertThat(wrong.note(from("192.0.2.2", 1).orElse(null))).isEqualTo(Answer.NOW);
    wrong.answered();
    assertThat(wrong.note(from("192.0.2.1", 1).orElse(null))).isEqualTo(Answer.LATE);
    nowNanos.set(2 + MINUTE);
    assertThat(wrong.note(from("192.0.2.1", 1).orElse(null))).isEqualTo(Answer.NOW);
  }

  @Test
  void note_moreAddressesThanAreCounted_theOneThatShowsManyIsStillKnown() {
    for (int i = 0; i < 20_000; i++) {
      wrong.note(from("10.0." + i / 256 + "." + i % 256, 1).orElse(null));
      if (i % 100 == 0) {
        wrong.note(from("192.0.2.1", 1).orElse(null));
      }
    }
    assertThat(wrong.note(from("192.0.2.1", 1).orElse(null))).isNotEqualTo(Answer.NOW);
  }

  private static Optional<SocketAddress> from(String address, int port) {
    return Optional.of(new InetSocketAddress(address, port));
  }
}
