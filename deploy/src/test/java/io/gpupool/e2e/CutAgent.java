// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A {@code gpupool agent} that is killed now and then and started again on the same socket. */
final class CutAgent implements AutoCloseable {
  private final Program.Builder command;
  private final Path socket;
  private Program running;

  private CutAgent(Program.Builder command, Path socket) {
    this.command = command;
    this.socket = socket;
    running = launch();
  }

  static CutAgent start(String pool, Path folder, List<String> options) {
    Path socket = folder.resolve("agent.sock");
    List<String> line = new ArrayList<>(List.of(Distribution.gpupool().toString(), "agent"));
    line.addAll(List.of("--pool", pool, "--socket", socket.toString()));
    line.addAll(options);
    return new CutAgent(Program.of(line), socket);
  }

  private Program launch() {
    Program agent = command.start();
    try {
      agent.awaitLine(line -> line.startsWith("gpupool agent ready"));
      return agent;
    } catch (AssertionError e) {
      agent.close();
      throw e;
    }
  }

  Path socket() {
    return socket;
  }

  /** Kills it without a warning, and starts another. */
  synchronized void restart() {
    running.close();
    running = launch();
  }

  @Override
  public synchronized void close() {
    running.close();
  }
}
