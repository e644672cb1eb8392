// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Ops;
import io.gpupool.worker.connection.ClearConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.quota.LeasedGpu;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bytes as docs/design/call-stream.md lays them out, written down by hand. */
@Timeout(60)
class WireLayoutTest {
  private static final HexFormat HEX = HexFormat.of();

  private static String received(int fd, int length) {
    long buffer = Posix.map(4096);
    long at = 0;
    while (at < length) {
      at += Posix.recv(fd, buffer + at, length - at, 0);
    }
    String hex = HEX.formatHex(Memory.bytes(buffer, length));
    Posix.unmap(buffer, 4096);
    return hex;
  }

  @Test
  void answers_haveTheirLayout() {
    int[] pair = Posix.socketPair();
    Answers answers = new Answers(new ClearConnection(pair[0]));
    long memory = Posix.map(4096);
    Memory.put(memory, new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9}, 9);

    answers.reply(0x0a0b0c0d, 700);
    answers.reply(5, 0, memory, 8);
    answers.data(6, 0x100, memory, 3);
    answers.callback(7, 1);
    answers.flush();

    assertThat(received(pair[1], 16))
        .isEqualTo("10000000" + "0100" + "0000" + "0d0c0b0a" + "bc020000");
    assertThat(received(pair[1], 24))
        .isEqualTo("18000000" + "0100" + "0000" + "05000000" + "00000000" + "0102030405060708");
    assertThat(received(pair[1], 32))
        .isEqualTo(
            "20000000"
                + "0200"
                + "0000"
                + "06000000"
                + "03000000"
                + "0001000000000000"
                + "0102030000000000");
    assertThat(received(pair[1], 16))
        .isEqualTo("10000000" + "0300" + "0000" + "07000000" + "01000000");

    answers.output(0, "hi".getBytes(StandardCharsets.UTF_8));
    assertThat(received(pair[1], 24))
        .isEqualTo("18000000" + "0600" + "0000" + "00000000" + "02000000" + "6869000000000000");
    answers.fatal(999, "end");
    answers.flush();
    assertThat(received(pair[1], 24))
        .isEqualTo("18000000" + "0500" + "0000" + "00000000" + "e7030000" + "656e640000000000");
    answers.release();
    Arrays.stream(pair).forEach(Posix::close);
  }

  @Test
  void welcome_describesTheGpusOfTheLeaseInItsOrder() {
    List<LeasedGpu> gpus = List.of(new LeasedGpu(1, 12345, 50), new LeasedGpu(0, 678, 50));
    try (TestSession session = new TestSession(TestDriver.backend(), gpus)) {
      Answer welcome = session.welcome;

      assertThat(welcome.kind()).isZero();
      assertThat(welcome.i32(0)).isEqualTo(13000);
      assertThat(welcome.i32(4)).isEqualTo(2);
      int attributes = welcome.i32(8);
      assertThat(welcome.i32(12)).isEqualTo(Ops.DIGEST);
      int deviceBytes = (256 + 16 + 16 + 8 + 4 * attributes + 7) & -8;
      assertThat(welcome.payload()).hasSize(16 + 2 * deviceBytes);
      byte[] name = Arrays.copyOfRange(welcome.payload(), 16, 16 + 256);
      assertThat(new String(name, StandardCharsets.UTF_8).trim()).isEqualTo("Test GPU 1");
      byte[] pci = Arrays.copyOfRange(welcome.payload(), 16 + 272, 16 + 288);
      assertThat(new String(pci, StandardCharsets.UTF_8).trim()).isEqualTo("0000:02:00.0");
      assertThat(welcome.u64(16 + 288)).isEqualTo(12345);
      assertThat(welcome.i32(16 + 296)).as("flags").isZero();
      assertThat(welcome.i32(16 + 296 + 4 * 10)).isEqualTo(32);
      assertThat(welcome.i32(16 + 296 + 4 * 141)).isEqualTo(Integer.MIN_VALUE);
      assertThat(welcome.u64(16 + deviceBytes + 288)).isEqualTo(678);
    }
  }

  @Test
  void launchFrame_hasItsLayout() {
    byte[] frame = Request.simpleLaunch(Ops.launch, 3, 20, 30, 0x1122334455667788L, 9);

    assertThat(HEX.formatHex(frame))
        .isEqualTo(
            "48000000"
                + "%02x00".formatted(Ops.launch)
                + "0300"
                + "14000000"
                + "1e000000"
                + "01000000"
                + "01000000"
                + "01000000"
                + "20000000"
                + "01000000"
                + "01000000"
                + "00000000"
                + "00000000"
                + "0c000000"
                + "00000000"
                + "8877665544332211"
                + "0900000000000000");
  }

  @Test
  void requestFrame_withBuffer_hasItsLayout() {
    byte[] frame = Request.fenced(Ops.moduleGetGlobal, 1, 2, 16, "abc", 1, 0);

    assertThat(HEX.formatHex(frame))
        .isEqualTo(
            "38000000"
                + "%02x00".formatted(Ops.moduleGetGlobal)
                + "0100"
                + "0200000000000000"
                + "1000000000000000"
                + "0300000000000000"
                + "0100000000000000"
                + "0000000000000000"
                + "6162630000000000");
  }
}
