// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.server.Pool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** A pool-server in a process of its own, which can be killed. */
final class PoolProcess {
  private static final String READY = "READY ";

  private final Process process;
  final int port;

  /** Starts one, and waits until it serves. */
  PoolProcess(String gpus, int port, Path state) throws IOException {
    process =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin/java").toString(),
                    "-XX:+UseSerialGC",
                    "--enable-native-access=ALL-UNNAMED",
                    "--sun-misc-unsafe-memory-access=allow",
                    "-cp",
                    System.getProperty("java.class.path"),
                    PoolProcess.class.getName(),
                    gpus,
                    Integer.toString(port),
                    state.toString()))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String line = process.inputReader().readLine();
    while (line != null && !line.startsWith(READY)) {
      line = process.inputReader().readLine();
    }
    if (line == null) {
      throw new IOException("the pool has ended");
    }
    this.port = Integer.parseInt(line.substring(READY.length()));
  }

  /** Without any warning. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  public static void main(String[] arguments) throws Exception {
    try (Pool pool =
        Pool.lasting(arguments[0], Integer.parseInt(arguments[1]), Path.of(arguments[2]))) {
      System.out.println(READY + pool.server.controlPort());
      new CountDownLatch(1).await();
    }
  }
}
