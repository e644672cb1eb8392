// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.agent;

import io.gpupool.agent.container.ContainerWiring;
import io.gpupool.cli.AgentSocket;
import io.gpupool.cli.ClassOptions;
import io.gpupool.cli.Installation;
import io.gpupool.client.LeaseOptions;
import io.gpupool.control.v1.Holder;
import io.gpupool.transport.UnixAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Which agent a container's programs are to find, and what they ask it for. */
final class ContainerOptions {
  private static final String SOCKET = "agent.sock";

  @Option(
      names = "--agent-folder",
      paramLabel = "FOLDER",
      description = {
        "where the agent's agent.sock is (else where GPUPOOL_AGENT says, else where one is found,",
        "else /run/gpupool)"
      })
  private Optional<Path> agentFolder = Optional.empty();

  @Option(names = "-n", paramLabel = "GPUS", description = "how many GPUs (GPUPOOL_GPUS)")
  private Optional<String> gpus = Optional.empty();

  @Option(
      names = {"-p", "--fraction"},
      paramLabel = "FRACTION",
      description = "the part of each GPU, over 0 to 1 (GPUPOOL_FRACTION)")
  private Optional<String> fraction = Optional.empty();

  @Option(
      names = {"-m", "--memory"},
      paramLabel = "MEMORY",
      description = "memory of each GPU, instead of -p, such as 512Mi or 8Gi (GPUPOOL_MEMORY)")
  private Optional<String> memory = Optional.empty();

  @Option(
      names = "--compute",
      paramLabel = "PERCENT",
      description = "the part of each GPU's time (GPUPOOL_COMPUTE)")
  private Optional<String> compute = Optional.empty();

  @Mixin private ClassOptions classes = new ClassOptions();

  @Option(
      names = "--idle-timeout",
      paramLabel = "DURATION",
      description = "the lease ends after so long without use (GPUPOOL_IDLE_TIMEOUT)")
  private Optional<String> idleTimeout = Optional.empty();

  @Option(
      names = "--time-limit",
      paramLabel = "DURATION",
      description = "the lease ends so long after it was granted (GPUPOOL_TIME_LIMIT)")
  private Optional<String> timeLimit = Optional.empty();

  /** Of this installation and that agent, which need not run yet. */
  ContainerWiring wiring() throws IOException {
    Installation installation = Installation.find();
    installation.require(installation.shim().resolve("libcuda.so.1"));
    Path folder = folder();
    if (!Files.exists(folder.resolve(SOCKET))) {
      System.err.println(
          "gpupool: no agent is at "
              + folder.resolve(SOCKET)
              + " yet; start one with 'gpupool agent --any-user --pool HOST'");
    }
    return new ContainerWiring(installation.shim(), folder);
  }

  private Path folder() {
    if (agentFolder.isPresent()) {
      return agentFolder.get();
    }
    UnixAddress address = AgentSocket.toFind().orElseGet(AgentSocket::toCreate);
    Path socket = Path.of(address.text());
    if (address.isAbstract() || !socket.endsWith(SOCKET)) {
      throw new IllegalArgumentException(
          "a container finds an agent by a folder with the socket agent.sock in it, which "
              + address
              + " is not; start an agent with 'gpupool agent --socket /run/gpupool/agent.sock'");
    }
    return socket.toAbsolutePath().getParent();
  }

  /** That of every container, and the variables by which the shim asks for a share. */
  Map<String, String> environment(Map<String, String> every) {
    Map<String, Optional<String>> wish = new LinkedHashMap<>();
    wish.put("gpus", gpus);
    wish.put("fraction", fraction);
    wish.put("memory", memory);
    wish.put("compute", compute);
    wish.put("class", classes.name());
    wish.put("idle_timeout", idleTimeout);
    wish.put("time_limit", timeLimit);
    Function<String, Optional<String>> values = name -> wish.getOrDefault(name, Optional.empty());
    // Wrong forms are better told here than by each program.
    LeaseOptions.from(values).request(Holder.getDefaultInstance());
    Map<String, String> environment = new LinkedHashMap<>(every);
    wish.forEach((name, value) ->
        value.ifPresent(text -> environment.put("GPUPOOL_" + name.toUpperCase(Locale.ROOT), text)));
    return environment;
  }
}
