// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.wire.TextMessage;
import org.junit.jupiter.api.Test;

class SessionStatsTest {
  @Test
  void lastCall_ofReportsWithoutNewCalls_isThatOfTheLastReportWithSome() {
    SessionStats first = SessionStats.NONE.next(report(0), 100);
    assertThat(first.calls().lastAtNanos()).isZero();
    SessionStats called = first.next(report(3), 200);
    assertThat(called.next(report(3), 300).calls().lastAtNanos()).isEqualTo(200);
    assertThat(called.next(report(4), 300).calls().lastAtNanos()).isEqualTo(300);
  }

  private static TextMessage report(int calls) {
    return TextMessage.ofType("stats").put("calls", Integer.toString(calls)).build();
  }
}
