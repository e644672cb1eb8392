// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import io.gpupool.bench.LineProgram.End;
import io.gpupool.cli.Installation;
import io.gpupool.client.connection.PoolAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Two servers of a pool with software GPUs, and the etcd that holds the pool together, on the
 * loopback interface of this machine, for as long as one command runs.
 */
final class LoopbackServers implements AutoCloseable {
  private static final Pattern READY = Pattern.compile(".* ready: control ([^ ,]+),.*");
  private static final String HOST = "127.0.0.1";
  private static final long ETCD_MILLIS = 60_000;

  private final Installation installation;
  private final Path folder;
  private final List<LineProgram> programs = new ArrayList<>();
  private final List<PoolAddress> addresses = new ArrayList<>();

  private LoopbackServers(Installation installation, Path folder) {
    this.installation = installation;
    this.folder = folder;
  }

  /**
   * Starts them.
   *
   * @param gpus of each, as {@code gpupool server --gpus} takes them
   */
  static LoopbackServers start(Installation installation, String gpus)
      throws IOException, InterruptedException {
    LoopbackServers servers =
        new LoopbackServers(installation, Files.createTempDirectory("gpupool-bench-"));
    try {
      String state = servers.startEtcd();
      for (int i = 0; i < 2; i++) {
        servers.startServer("m" + i, gpus, state);
      }
      return servers;
    } catch (IOException | InterruptedException | RuntimeException e) {
      servers.close();
      throw e;
    }
  }

  /** Returns the control plane of one of them. */
  PoolAddress address() {
    return addresses.getFirst();
  }

  private String startEtcd() throws IOException, InterruptedException {
    int port = freePort();
    String client = "http://" + HOST + ":" + port;
    String peer = "http://" + HOST + ":" + freePort();
    LineProgram etcd =
        start(
            "etcd",
            etcd().toString(),
            "--data-dir",
            folder.resolve("etcd").toString(),
            "--listen-client-urls",
            client,
            "--advertise-client-urls",
            client,
            "--listen-peer-urls",
            peer,
            "--initial-advertise-peer-urls",
            peer,
            "--initial-cluster",
            "default=" + peer);
    long end = System.nanoTime() + ETCD_MILLIS * 1_000_000;
    while (!answers(port)) {
      if (!etcd.isAlive() || System.nanoTime() > end) {
        throw new IOException("etcd does not start on this machine; try it by itself");
      }
      Thread.sleep(50);
    }
    return "etcd://" + HOST + ":" + port + "/bench";
  }

  private static Path etcd() {
    for (String place : System.getenv().getOrDefault("PATH", "").split(":")) {
      Path found = Path.of(place).resolve("etcd");
      if (Files.isExecutable(found)) {
        return found;
      }
    }
    throw new IllegalArgumentException(
        "two servers on this machine need an etcd, and there is none in PATH: install it"
            + " (apt-get install etcd-server), or name a pool with --pool");
  }

  private void startServer(String name, String gpus, String state) throws IOException {
    LineProgram server =
        start(
            "server " + name,
            installation.require(installation.command()).toString(),
            "server",
            "--gpus",
            gpus,
            "--listen",
            HOST,
            "--host",
            HOST,
            "--name",
            name,
            "--control-port",
            "0",
            "--data-port",
            "0",
            "--http-port",
            "0",
            "--state",
            state);
    addresses.add(PoolAddress.parse(server.await(READY).group(1)));
  }

  private LineProgram start(String name, String... command) throws IOException {
    LineProgram program =
        LineProgram.start(installation, name, End.SIGNAL, Map.of(), List.of(command));
    programs.add(program);
    return program;
  }

  private static int freePort() throws IOException {
    try (ServerSocket some = new ServerSocket(0, 1, InetAddress.getByName(HOST))) {
      return some.getLocalPort();
    }
  }

  private static boolean answers(int port) {
    try (Socket some = new Socket(HOST, port)) {
      return some.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  public void close() throws IOException {
    for (LineProgram program : programs.reversed()) {
      program.close();
    }
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path visited, IOException failure)
              throws IOException {
            Files.delete(visited);
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
