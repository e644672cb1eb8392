// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.driver;

import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * NVIDIA's Multi-Process Service for the workers of one server: a daemon of its own with its own
 * folders, so that it does not meet another on the machine. It starts MPS servers as workers come,
 * and stops with the pool-server.
 */
public final class MpsControl implements AutoCloseable {
  private static final String DAEMON = "nvidia-cuda-mps-control";
  private static final int PATIENCE_SECONDS = 10;
  private static final Logger LOG = LoggerFactory.getLogger(MpsControl.class);

  private final Path folder;

  private MpsControl(Path folder) {
    this.folder = folder;
  }

  /**
   * Starts the daemon.
   *
   * @throws IOException if it cannot be started; the message is for people
   */
  public static MpsControl start() throws IOException {
    // The daemon's sockets lie there, and the names of sockets are short.
    MpsControl mps = new MpsControl(Files.createTempDirectory("gpupool-mps-"));
    try {
      Files.createDirectories(mps.logs());
      mps.run("the daemon", "", "-d");
      LOG.info("GPUs are shared through MPS, whose messages are in {}", mps.logs());
      return mps;
    } catch (IOException e) {
      mps.clear();
      throw new IOException(
          "--sharing mps: "
              + e.getMessage()
              + "; install NVIDIA's driver with its MPS tools, or give --sharing timeslice",
          e);
    }
  }

  /** What leads a worker's driver to this service. */
  public Map<String, String> environment() {
    return Map.of(
        "CUDA_MPS_PIPE_DIRECTORY", folder.toString(), "CUDA_MPS_LOG_DIRECTORY", logs().toString());
  }

  /** Folders that a worker's driver uses for it. */
  public List<String> folders() {
    return List.of(folder.toString());
  }

  private Path logs() {
    return folder.resolve("log");
  }

  private void run(String what, String input, String... arguments) throws IOException {
    List<String> command = Stream.concat(Stream.of(DAEMON), Stream.of(arguments)).toList();
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(environment());
    // The daemon keeps what it inherits; it must not keep the server's output open.
    builder.redirectOutput(folder.resolve("control.log").toFile());
    Process process = builder.start();
    try (Writer to = process.outputWriter()) {
      to.write(input);
    }
    try {
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new IOException(what + " did not answer within " + PATIENCE_SECONDS + " s");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
    if (process.exitValue() != 0) {
      throw new IOException(
          what
              + " failed with status "
              + process.exitValue()
              + ": "
              + Files.readString(folder.resolve("control.log")).strip());
    }
  }

  /** Ends the daemon, once the workers are gone. */
  @Override
  public void close() {
    try {
      run("the end of MPS", "quit\n");
    } catch (IOException e) {
      LOG.warn("{}", e.getMessage());
    }
    clear();
  }

  private void clear() {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      LOG.warn("the folder of MPS is left behind: {}", e.getMessage());
    }
  }
}
