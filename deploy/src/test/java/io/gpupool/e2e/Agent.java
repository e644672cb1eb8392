// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A running {@code gpupool agent} on a socket in a folder of its own. */
final class Agent implements AutoCloseable {
  private final Program agent;
  private final Path socket;

  private Agent(Program agent, Path socket) {
    this.agent = agent;
    this.socket = socket;
  }

  static Agent start(Pool pool, Path folder, String... options) {
    Path socket = folder.resolve("agent.sock");
    List<String> command = new ArrayList<>(List.of(Distribution.gpupool().toString(), "agent"));
    command.addAll(List.of("--pool", pool.address(), "--socket", socket.toString()));
    command.addAll(List.of(options));
    Program agent = Program.of(command).start();
    try {
      agent.awaitLine(line -> line.startsWith("gpupool agent ready"));
      return new Agent(agent, socket);
    } catch (AssertionError e) {
      agent.close();
      throw e;
    }
  }

  Path socket() {
    return socket;
  }

  Program program() {
    return agent;
  }

  /** A program that only finds the shim by its library path and the agent by its socket. */
  Program.Builder program(Object... command) {
    return Program.of(command)
        .with("LD_LIBRARY_PATH", Distribution.SHIM)
        .with("GPUPOOL_AGENT", socket)
        .with("GPUPOOL_FRACTION", "0.5");
  }

  @Override
  public void close() {
    agent.close();
  }
}
