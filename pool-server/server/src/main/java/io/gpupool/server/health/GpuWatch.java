// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.health;

import io.gpupool.runtime.BackOff;
import io.gpupool.server.worker.WorkerCommand;
import java.io.BufferedReader;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The process that watches the GPUs, restarted when it ends until this is closed. A separate
 * process keeps the driver out of the server. It has a thread of its own.
 */
public final class GpuWatch implements AutoCloseable {
  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(5);
  private static final long WORKED_MILLIS = 60_000;

  /** Exit status of a watch that finds no management library. */
  private static final int NO_LIBRARY = 3;

  private static final Logger LOG = LoggerFactory.getLogger(GpuWatch.class);

  private final WorkerCommand command;
  private final List<String> backend;
  private final Consumer<Reading> listener;
  private volatile boolean closed;
  private volatile @Nullable Process process;

  /**
   * Not started yet.
   *
   * @param backend arguments that name the driver
   * @param listener hears what is told, on the thread of this
   */
  public GpuWatch(WorkerCommand command, List<String> backend, Consumer<Reading> listener) {
    this.command = command;
    this.backend = List.copyOf(backend);
    this.listener = listener;
  }

  public void start() {
    Thread.ofPlatform().name("gpupool-health").daemon().start(this::keepWatching);
  }

  private void keepWatching() {
    BackOff backOff = BackOff.exact(FIRST_PAUSE, LONGEST_PAUSE);
    while (!closed) {
      long begunAt = System.nanoTime();
      String end = watch();
      if (closed || end.isEmpty()) {
        return;
      }
      if (System.nanoTime() - begunAt > TimeUnit.MILLISECONDS.toNanos(WORKED_MILLIS)) {
        backOff.reset();
      }
      Duration pause = backOff.next();
      LOG.warn("the watch of the GPUs ended: {}; restarting it in {} s", end, pause.toSeconds());
      pause(pause.toMillis());
    }
  }

  /** Why it ended; empty if there is nothing to watch with. */
  private String watch() {
    try {
      List<String> arguments = new ArrayList<>(List.of("--watch"));
      arguments.addAll(backend);
      Process started =
          command.process(arguments).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      process = started;
      if (closed) {
        started.destroyForcibly();
      }
      try (BufferedReader lines = started.inputReader()) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          Reading.parse(line).ifPresent(listener);
        }
      }
      int status = started.waitFor();
      if (status == NO_LIBRARY) {
        LOG.warn(
            "the driver's management library is not there: faults of GPUs are not noticed; a container has it with NVIDIA_DRIVER_CAPABILITIES=compute,utility");
        return "";
      }
      return "exit status " + status;
    } catch (IOException e) {
      return String.valueOf(e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "";
    }
  }

  private void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    closed = true;
    Process running = process;
    if (running != null) {
      running.destroyForcibly();
    }
  }
}
