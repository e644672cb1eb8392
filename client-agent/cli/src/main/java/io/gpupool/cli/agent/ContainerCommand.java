// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.agent;

import io.gpupool.container.CdiSpec;
import io.gpupool.container.ContainerWiring;
import io.gpupool.container.RunOptionLine;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code gpupool container}. */
@Command(
    name = "container",
    description = "Says what a container needs to use the pool through this machine's agent.",
    subcommands = {ContainerCommand.Options.class, ContainerCommand.Cdi.class},
    synopsisSubcommandLabel = "COMMAND")
public final class ContainerCommand {
  /** {@code gpupool container options}. */
  @Command(
      name = "options",
      description = {
        "Prints options for docker run, and for others that take the same:",
        "docker run $(gpupool container options -p 0.5) IMAGE"
      })
  static final class Options implements Callable<Integer> {
    @Mixin private ContainerOptions container;

    @Override
    public Integer call() throws IOException {
      ContainerWiring wiring = container.wiring();
      System.out.println(
          RunOptionLine.of(wiring.mounts(), container.environment(wiring.environment())));
      return 0;
    }
  }

  /** {@code gpupool container cdi}. */
  @Command(
      name = "cdi",
      description = {
        "Writes a file for engines with the Container Device Interface:",
        "podman run --device gpupool.io/gpu=shared IMAGE"
      })
  static final class Cdi implements Callable<Integer> {
    @Mixin private ContainerOptions container;

    @Option(
        names = "--device",
        paramLabel = "NAME",
        description = "what the device is called (default: ${DEFAULT-VALUE})")
    private String device = CdiSpec.SHARED;

    @Option(
        names = "--file",
        paramLabel = "FILE",
        description = "such as /etc/cdi/gpupool.json (default: standard output)")
    private @Nullable Path file;

    @Override
    public Integer call() throws IOException {
      ContainerWiring wiring = container.wiring();
      Map<String, String> environment = container.environment(wiring.environment());
      CdiSpec spec = CdiSpec.of(new CdiSpec.Device(device, wiring.mounts(), environment));
      if (file != null) {
        spec.write(file);
        System.out.println(file + ": " + spec.qualifiedNames().getFirst());
      } else {
        System.out.print(spec.json());
      }
      return 0;
    }
  }
}
