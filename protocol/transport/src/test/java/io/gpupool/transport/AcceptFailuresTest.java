// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class AcceptFailuresTest {
  @Test
  void exception_again_restsForASecondAndGoesNoFurther() {
    EmbeddedChannel socket = new EmbeddedChannel(new AcceptFailures("port"));
    for (int i = 0; i < 3; i++) {
      socket.pipeline().fireExceptionCaught(new IOException("Too many open files"));
      assertThat(socket.config().isAutoRead()).isFalse();
      socket.advanceTimeBy(1, TimeUnit.SECONDS);
      socket.runScheduledPendingTasks();
      assertThat(socket.config().isAutoRead()).isTrue();
    }
    socket.checkException();
  }
}
