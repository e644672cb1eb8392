// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.agent;

import io.gpupool.cli.AgentSocket;
import io.gpupool.cli.Installation;
import io.gpupool.cli.LeasePartOptions;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.container.ContainerWiring;
import io.gpupool.control.v1.Holder;
import io.gpupool.transport.UnixAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of a container's programs: the agent that they find, and the lease they ask for. */
final class ContainerOptions {
  private static final String SOCKET = "agent.sock";

  @Option(
      names = "--agent-folder",
      paramLabel = "FOLDER",
      description = {
        "where the agent's agent.sock is (else where GPUPOOL_AGENT says, else where one is found,",
        "else /run/gpupool)"
      })
  private @Nullable Path agentFolder;

  @Mixin private LeasePartOptions part = new LeasePartOptions();

  /** Returns the wiring to this installation and to that agent, which need not run yet. */
  ContainerWiring wiring() throws IOException {
    Installation installation = Installation.find();
    installation.require(installation.shim().resolve("libcuda.so.1"));
    installation.require(installation.nccl());
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
    if (agentFolder != null) {
      return agentFolder;
    }
    UnixAddress address = AgentSocket.toFind().orElseGet(AgentSocket::toCreate);
    Path socket = Path.of(address.text());
    Path parent = socket.toAbsolutePath().getParent();
    if (address.isAbstract() || !socket.endsWith(SOCKET) || parent == null) {
      throw new IllegalArgumentException(
          "a container finds an agent by a folder with the socket agent.sock in it, which "
              + address
              + " is not; start an agent with 'gpupool agent --socket /run/gpupool/agent.sock'");
    }
    return parent;
  }

  /** The variables of every container, and those by which the shim asks for a part of a GPU. */
  Map<String, String> environment(Map<String, String> every) {
    Map<String, String> values = part.values();
    // Wrong forms are better told here than by each program.
    LeaseOptions.from(name -> Optional.ofNullable(values.get(name)))
        .request(Holder.getDefaultInstance());
    Map<String, String> environment = new LinkedHashMap<>(every);
    values.forEach(
        (name, text) -> environment.put("GPUPOOL_" + name.toUpperCase(Locale.ROOT), text));
    return environment;
  }
}
