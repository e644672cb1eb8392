// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.OpenSessionReply;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;

/** A pool-server in a process of its own, for tests that kill it; it opens one session. */
final class KilledServer implements AutoCloseable {
  private static final long WINDOW_MILLIS = 60_000;

  private final Process process;
  final int dataPort;
  final OpenSessionReply session;

  private KilledServer(Process process, int dataPort, OpenSessionReply session) {
    this.process = process;
    this.dataPort = dataPort;
    this.session = session;
  }

  static KilledServer start(Path state) throws IOException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                KilledServer.class.getName(),
                state.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith("session ")) {
        List<String> words = List.of(line.split(" "));
        return new KilledServer(
            process,
            Integer.parseInt(words.get(1)),
            OpenSessionReply.parseFrom(HexFormat.of().parseHex(words.get(2))));
      }
    }
    throw new IOException("the server has not started");
  }

  public static void main(String[] arguments) throws Exception {
    Pool pool = Pool.lasting("soft:1", 0, Path.of(arguments[0]));
    Pool.Held held =
        pool.lease(
            LeaseRequest.newBuilder().setFraction(0.25).setResumeWindowMillis(WINDOW_MILLIS));
    OpenSessionReply session = pool.session(held.lease());
    System.out.println(
        "session "
            + pool.server.dataPort()
            + " "
            + HexFormat.of().formatHex(session.toByteArray()));
    Thread.sleep(WINDOW_MILLIS);
  }

  /** Kills it as the kernel does for want of memory. */
  void kill() {
    process.destroyForcibly().onExit().join();
  }

  @Override
  public void close() {
    kill();
  }
}
