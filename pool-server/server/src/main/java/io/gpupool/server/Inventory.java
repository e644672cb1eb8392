// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.driver.DriverSearch;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuFacts;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.identity.HolderName;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out which GPUs there are by asking a worker process, so that no driver is ever loaded into
 * the server itself.
 */
final class Inventory {
  /** Exit status of a probe that found no NVIDIA driver. */
  static final int NO_DRIVER = 3;

  private static final String PART = "part uuid=";
  private static final int PROBE_SECONDS = 60;
  private static final int MAX_OUTPUT_BYTES = 1 << 20;
  private static final Logger LOG = LoggerFactory.getLogger(Inventory.class);

  private Inventory() {}

  /** Stands in where there is no NVIDIA driver. */
  static final GpuSpec FALLBACK = new GpuSpec("soft:1");

  /**
   * The NVIDIA driver's GPUs; empty where there is no driver. Blocks until the driver has told.
   *
   * @throws IOException if the driver fails, or is named and not there
   */
  static Optional<List<Gpu>> probeDriver(ServerOptions options, String server) throws IOException {
    Optional<String> libraryPath = Optional.ofNullable(System.getenv("LD_LIBRARY_PATH"));
    if (!DriverSearch.mayFind(options.driver().libcuda(), libraryPath)) {
      return Optional.empty();
    }
    try {
      return Optional.of(probe(options, options.gpus(), server));
    } catch (NoDriverException e) {
      if (options.driver().libcuda().isPresent()) {
        throw new IOException(
            "the driver named with --libcuda cannot be used: " + e.getMessage(), e);
      }
      LOG.debug("{}", e.getMessage());
      return Optional.empty();
    }
  }

  /** The GPUs of this kind; blocks until the probe is done. */
  static List<Gpu> probe(ServerOptions options, GpuSpec spec, String server) throws IOException {
    String output = ask(options, spec, Optional.empty());
    List<String> parts =
        output
            .lines()
            .filter(line -> line.startsWith(PART))
            .map(line -> line.substring(PART.length()))
            .toList();
    if (parts.isEmpty()) {
      return parse(output, server);
    }
    // A process sees one slice of a card at a time: each is asked for by its name.
    List<Gpu> gpus = new ArrayList<>();
    for (String part : parts) {
      Gpu seen = parse(ask(options, spec, Optional.of(part)), server).getFirst();
      gpus.add(seen.as(gpus.size(), part));
    }
    return gpus;
  }

  /** What a probe prints: a GPU a line, or the parts of divided cards, which are asked each. */
  private static String ask(ServerOptions options, GpuSpec spec, Optional<String> part)
      throws IOException {
    List<String> arguments = new ArrayList<>(List.of("--probe"));
    arguments.addAll(options.backendArguments(spec));
    part.ifPresent(uuid -> arguments.add("--undivided"));
    ProcessBuilder builder = options.worker().process(arguments);
    part.ifPresent(uuid -> builder.environment().put("CUDA_VISIBLE_DEVICES", uuid));
    Process process = builder.start();
    try {
      process.getOutputStream().close();
      CompletableFuture<String> errors =
          CompletableFuture.supplyAsync(
              () -> read(process.getErrorStream()), Thread::startVirtualThread);
      CompletableFuture<String> output =
          CompletableFuture.supplyAsync(
              () -> read(process.getInputStream()), Thread::startVirtualThread);
      if (!process.waitFor(PROBE_SECONDS, TimeUnit.SECONDS)) {
        throw new IOException(
            "looking for GPUs took over " + PROBE_SECONDS + " s; is the driver hanging?");
      }
      int status = process.exitValue();
      if (status == NO_DRIVER && !spec.isSoft()) {
        throw new NoDriverException(lastLine(errors.join()));
      }
      if (status != 0) {
        throw new IOException(
            "looking for GPUs failed with status " + status + ": " + lastLine(errors.join()));
      }
      String lines = output.join();
      HostMemoryReach.warnings(lines).forEach(LOG::warn);
      return lines;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while looking for GPUs", e);
    } finally {
      process.destroyForcibly();
    }
  }

  /** Reads {@code key=value ...} lines, one a GPU; {@code name} is last and may hold spaces. */
  static List<Gpu> parse(String output, String server) throws IOException {
    List<Gpu> gpus = new ArrayList<>();
    for (String line : output.lines().filter(l -> l.startsWith("ordinal=")).toList()) {
      int nameAt = line.indexOf(" name=");
      Map<String, String> fields = new HashMap<>();
      for (String field : line.substring(0, Math.max(nameAt, 0)).split(" ")) {
        int equals = field.indexOf('=');
        fields.put(field.substring(0, Math.max(equals, 0)), field.substring(equals + 1));
      }
      try {
        gpus.add(
            new Gpu(
                server,
                Integer.parseInt(fields.get("ordinal")),
                fields.getOrDefault("uuid", ""),
                HolderName.plain(line.substring(nameAt + " name=".length())),
                Long.parseLong(fields.get("memory")),
                fields.getOrDefault("cc", ""),
                Integer.parseInt(fields.getOrDefault("driver", "0")),
                Map.of(),
                facts(fields)));
      } catch (IllegalArgumentException e) {
        throw new IOException("the probe printed a line that cannot be read: " + line, e);
      }
    }
    if (gpus.isEmpty()) {
      throw new IOException("the driver has no GPUs; --gpus soft:1 serves one in software");
    }
    return gpus;
  }

  private static GpuFacts facts(Map<String, String> fields) {
    return new GpuFacts(
        HolderName.plain(fields.getOrDefault("version", "")),
        HolderName.plain(fields.getOrDefault("pci", "")),
        Integer.parseUnsignedInt(fields.getOrDefault("multiprocessors", "0")),
        Integer.parseUnsignedInt(fields.getOrDefault("clock", "0")),
        Integer.parseUnsignedInt(fields.getOrDefault("memoryClock", "0")),
        Integer.parseUnsignedInt(fields.getOrDefault("bus", "0")));
  }

  private static String read(java.io.InputStream stream) {
    try (stream) {
      return new String(stream.readNBytes(MAX_OUTPUT_BYTES), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String lastLine(String text) {
    return text.strip().lines().reduce((first, second) -> second).orElse("no message");
  }

  private static final class NoDriverException extends IOException {
    private static final long serialVersionUID = 1L;

    NoDriverException(String message) {
      super(message);
    }
  }
}
