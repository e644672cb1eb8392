// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.health;

import io.gpupool.server.worker.WorkerCommand;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A trial that has a GPU do a little of everything, in a process of its own, to find out whether it
 * works again.
 *
 * @param backend arguments that name the driver
 */
public record GpuTrial(WorkerCommand command, List<String> backend) {
  private static final int PATIENCE_SECONDS = 60;

  public GpuTrial {
    backend = List.copyOf(backend);
  }

  /** Tries the GPU of this UUID: empty if it works, else why not. Blocks. */
  public Optional<String> run(String uuid) {
    List<String> arguments = new ArrayList<>(List.of("--trial"));
    arguments.addAll(backend);
    ProcessBuilder builder = command.process(arguments);
    builder.environment().put("CUDA_VISIBLE_DEVICES", uuid);
    try {
      Process process = builder.redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        return Optional.of("a trial did not end within " + PATIENCE_SECONDS + " s");
      }
      if (process.exitValue() == 0) {
        return Optional.empty();
      }
      String last = process.errorReader().lines().reduce((a, b) -> b).orElse("no message");
      return Optional.of("a trial failed: " + last);
    } catch (IOException e) {
      return Optional.of("a trial could not be made: " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.of("a trial was interrupted");
    }
  }
}
