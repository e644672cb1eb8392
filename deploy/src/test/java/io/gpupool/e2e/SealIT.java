// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.wire.ServerHello;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Call streams of a pool with TLS, on a network whose bytes somebody sees and changes: see
 * docs/design/call-stream-security.md.
 */
class SealIT {
  /** What a program sends and a server answers: code of a kernel, and the name of a GPU. */
  private static final List<String> CONTENTS = List.of(".entry", "software GPU");

  private static final int HELLO_BYTES = 64;
  private static final int ANSWER_BYTES = 8;

  @TempDir Path folder;
  private TestAuthority authority;
  private Pool pool;
  private WireTap control;
  private WireTap streams;

  @BeforeEach
  void issue() {
    authority = new TestAuthority(folder.resolve("authority"));
  }

  @AfterEach
  void stop() {
    control.close();
    streams.close();
    pool.close();
  }

  private void start(String... options) {
    TestAuthority.Issued issued = authority.issue("server", "IP:127.0.0.1,IP:" + CutProxy.HOST);
    String[] all = Arrays.copyOf(options, options.length + 4);
    all[options.length] = "--tls-cert";
    all[options.length + 1] = issued.certificate().toString();
    all[options.length + 2] = "--tls-key";
    all[options.length + 3] = issued.key().toString();
    pool = Pool.start("soft:1,mem=1Gi", all);
    control = WireTap.start(pool.controlPort());
    streams = WireTap.start(pool.dataPort());
  }

  private Program.Ended compute() {
    return Program.of(
            Distribution.gpupool(),
            "run",
            "--pool",
            "tls://" + CutProxy.HOST + ":" + pool.controlPort(),
            "-p",
            "0.5",
            "--",
            CPrograms.example("vector_add"),
            Distribution.KERNELS)
        .with("GPUPOOL_TLS_CA", authority.root())
        .run();
  }

  private String wire() {
    return new String(streams.toServer(), StandardCharsets.ISO_8859_1)
        + new String(streams.toClient(), StandardCharsets.ISO_8859_1);
  }

  @Test
  void wire_sealed_carriesRecordsAndNoClearText() {
    start();
    Program.Ended ended = compute();
    assertThat(ended.output()).as(ended.toString()).contains("vector_add: OK");
    assertThat(CONTENTS).noneMatch(wire()::contains);
    assertRecords(streams.toServer(), HELLO_BYTES);
    assertRecords(streams.toClient(), ANSWER_BYTES);
  }

  /** The same bytes are found where they are to be found. */
  @Test
  void wire_inTheClear_carriesWhatIsLookedFor() {
    start("--clear-call-streams");
    assertThat(compute().output()).contains("vector_add: OK");
    assertThat(CONTENTS).allMatch(wire()::contains);
  }

  @Test
  void wire_relayed_isTlsFromItsFirstByte() {
    start("--relay-call-streams");
    Program.Ended ended = compute();
    assertThat(ended.output()).as(ended.toString()).contains("vector_add: OK");
    assertThat(CONTENTS).noneMatch(wire()::contains);
    assertThat(streams.toServer()).startsWith(22, 3);
    assertThat(streams.toClient()).startsWith(22, 3);
  }

  private static void assertRecords(byte[] bytes, int from) {
    int at = from;
    while (at < bytes.length) {
      assertThat(Arrays.copyOfRange(bytes, at, at + 3)).as("at " + at).containsExactly(23, 3, 3);
      at += 5 + ((bytes[at + 3] & 0xff) << 8 | bytes[at + 4] & 0xff);
    }
    assertThat(at).isEqualTo(bytes.length).isGreaterThan(from);
  }

  @ParameterizedTest
  @CsvSource({"5000,-1", "-1,40"})
  void record_altered_endsTheSessionWithTheReason(int byteToServer, int byteToClient) {
    start();
    streams.flip(byteToServer, byteToClient);
    Program.Ended ended = compute();
    assertThat(ended.status()).as(ended.toString()).isNotZero();
    assertThat(ended.errors())
        .as(ended.toString())
        .contains("a record of its call stream was altered");
    assertThat(streams.connections()).as("no resumption").isOne();
    pool.awaitIdle();
  }

  @Test
  void handshake_replayed_isRefused() throws Exception {
    start();
    assertThat(compute().output()).contains("vector_add: OK");
    byte[] hello = Arrays.copyOf(streams.toServer(), HELLO_BYTES);
    assertThat(answer(hello)).isEqualTo(ServerHello.BAD_HANDSHAKE);
  }

  /** Returns the status of the server's answer. */
  private int answer(byte[] hello) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), pool.dataPort())) {
      socket.getOutputStream().write(hello);
      return socket.getInputStream().readNBytes(ANSWER_BYTES)[0];
    }
  }
}
