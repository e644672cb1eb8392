// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.transport.Descriptors;
import io.netty.channel.unix.Socket;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class DescriptorInboxTest {
  private final DescriptorInbox inbox = DescriptorInbox.open();
  private final Socket worker = new Socket(inbox.workersEnd().intValue());

  @AfterEach
  void close() {
    inbox.close();
  }

  @Test
  void take_ofWhatIsNoFileInMemory_isTheSameInTheirOrder() throws IOException {
    int[] pair = Descriptors.socketPair();
    worker.sendFd(pair[0]);
    worker.sendFd(pair[1]);
    for (int theirs : pair) {
      int copy = inbox.take();
      assertThat(copy).isNotEqualTo(theirs);
      assertThat(file(copy)).isEqualTo(file(theirs)).startsWith("socket:");
      Descriptors.close(copy);
      Descriptors.close(theirs);
    }
  }

  @Test
  void take_whereNothingWasHandedOver_failsAndDoesNotWait() {
    assertThatThrownBy(inbox::take).isInstanceOf(IOException.class);
  }

  @Test
  void take_ofBytesAlone_fails() throws IOException {
    ByteBuffer bytes = ByteBuffer.allocateDirect(1);
    assertThat(worker.write(bytes, 0, 1)).isEqualTo(1);
    assertThatThrownBy(inbox::take).isInstanceOf(IOException.class);
  }

  private static String file(int descriptor) throws IOException {
    return Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor)).toString();
  }
}
