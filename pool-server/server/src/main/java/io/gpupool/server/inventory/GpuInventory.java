// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.inventory;

import io.gpupool.server.driver.DriverSearch;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuFacts;
import io.gpupool.server.gpu.GpuModel;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.options.ServerOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The inventory of a machine's GPUs. A worker process takes it, so that no driver is ever loaded
 * into the server itself.
 */
public final class GpuInventory {
  /** Exit status of a probe that found no NVIDIA driver. */
  private static final int NOT_FOUND = 3;

  /**
   * The same of one whose driver soon may start; between the two: of one whose driver is broken.
   */
  private static final int NOT_READY = 5;

  private static final Duration PATIENCE = Duration.ofMinutes(5);
  private static final Duration RETRY = Duration.ofSeconds(5);

  private static final String PART = "part uuid=";
  private static final String NCCL = "nccl ";
  private static final int PROBE_SECONDS = 60;
  private static final int MAX_OUTPUT_BYTES = 1 << 20;
  private static final Logger LOG = LoggerFactory.getLogger(GpuInventory.class);

  private GpuInventory() {}

  private static final DriverSearch SEARCH = new DriverSearch(Path.of("/"));

  /** Stands in where there is no NVIDIA driver. */
  static final GpuSpec FALLBACK = new GpuSpec("soft:1");

  /**
   * The NVIDIA driver's GPUs; empty where there is no driver. Blocks until the driver has told, and
   * for minutes if a service that the driver needs has not started yet.
   *
   * @throws IOException if the driver does not start, or is named and not there
   */
  static Optional<List<Gpu>> probeDriver(ServerOptions options, String server) throws IOException {
    Path named = options.gpus().driver().libcuda();
    if (!SEARCH.mayFind(named, System.getenv("LD_LIBRARY_PATH"))) {
      return Optional.empty();
    }
    long begin = System.nanoTime();
    boolean told = false;
    while (true) {
      try {
        return Optional.of(probe(options, options.gpus().spec(), server));
      } catch (DriverException e) {
        if (e.status == NOT_FOUND && named == null) {
          LOG.debug("{}", e.getMessage());
          return Optional.empty();
        }
        if (e.status != NOT_READY || System.nanoTime() - begin > PATIENCE.toNanos()) {
          throw new IOException(
              e.getMessage() + "; --gpus soft:1 serves a GPU in software instead", e);
        }
        if (!told) {
          told = true;
          LOG.warn("{}; trying again for {} minutes", e.getMessage(), PATIENCE.toMinutes());
        }
        pause();
      }
    }
  }

  private static void pause() throws IOException {
    try {
      Thread.sleep(RETRY);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while waiting for the NVIDIA driver", e);
    }
  }

  /** The GPUs of this kind; blocks until the probe is done. */
  static List<Gpu> probe(ServerOptions options, GpuSpec spec, String server) throws IOException {
    String output = ask(options, spec, null);
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
      Gpu seen = parse(ask(options, spec, part), server).getFirst();
      gpus.add(seen.as(gpus.size(), part));
    }
    return gpus;
  }

  /** What a probe prints: a GPU a line, or the parts of divided cards, which are asked each. */
  private static String ask(ServerOptions options, GpuSpec spec, @Nullable String part)
      throws IOException {
    List<String> arguments = new ArrayList<>(List.of("--probe"));
    arguments.addAll(options.gpus().backendArguments(spec));
    if (part != null) {
      arguments.add("--undivided");
    }
    ProcessBuilder builder = options.workers().command().process(arguments);
    if (part != null) {
      builder.environment().put("CUDA_VISIBLE_DEVICES", part);
    }
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
      if (status >= NOT_FOUND && status <= NOT_READY && !spec.isSoft()) {
        throw new DriverException(status, lastLine(errors.join()));
      }
      if (status != 0) {
        throw new IOException(
            "looking for GPUs failed with status " + status + ": " + lastLine(errors.join()));
      }
      String lines = output.join();
      HostMemoryReach.warnings(lines).forEach(LOG::warn);
      lines
          .lines()
          .filter(line -> line.startsWith(NCCL))
          .forEach(line -> LOG.info("{}", line.substring(NCCL.length())));
      Optional<String> refusal = ComputeMode.refusal(lines, options.gpus().driver().sharing());
      if (refusal.isPresent()) {
        throw new IOException(refusal.get());
      }
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
                new GpuModel(
                    HolderName.plain(line.substring(nameAt + " name=".length())),
                    Long.parseLong(fields.get("memory")),
                    fields.getOrDefault("cc", ""),
                    Integer.parseInt(fields.getOrDefault("driver", "0"))),
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
        Integer.parseUnsignedInt(fields.getOrDefault("bus", "0")),
        Long.parseUnsignedLong(fields.getOrDefault("context", "0")),
        Integer.parseUnsignedInt(fields.getOrDefault("nccl", "0")));
  }

  private static String read(java.io.InputStream stream) {
    try (stream) {
      return new String(stream.readNBytes(MAX_OUTPUT_BYTES), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String lastLine(String text) {
    return text.strip()
        .lines()
        .reduce((first, second) -> second)
        .map(line -> line.replaceFirst("^gpupool worker: ", ""))
        .orElse("no message");
  }

  /** The probe found no driver, or none that starts. */
  private static final class DriverException extends IOException {
    private static final long serialVersionUID = 1L;

    private final int status;

    DriverException(int status, String message) {
      super(message);
      this.status = status;
    }
  }
}
