// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.stream;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RefusalLogTest {
  private final AtomicLong nowNanos = new AtomicLong();
  private final List<String> lines = new ArrayList<>();
  private final RefusalLog log = new RefusalLog(nowNanos::get, lines::add);

  @Test
  void refused_oftenInASecond_tellsSomeAndLaterHowManyMore() {
    refuse(1000);
    assertThat(lines)
        .hasSize(RefusalLog.LINES_A_SECOND)
        .allMatch(line -> line.equals("call stream from /10.0.0.1:99 refused: no such session"));
    nowNanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
    lines.clear();
    refuse(1);
    assertThat(lines)
        .containsExactly(
            "980 more call streams were refused before",
            "call stream from /10.0.0.1:99 refused: no such session");
  }

  @Test
  void refused_nowAndThen_tellsEach() {
    for (int i = 0; i < 100; i++) {
      refuse(1);
      nowNanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(100));
    }
    assertThat(lines).hasSize(100);
  }

  private void refuse(int times) {
    for (int i = 0; i < times; i++) {
      log.refused(new InetSocketAddress("10.0.0.1", 99), "no such session");
    }
  }
}
