// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The etcd that is installed, each member a process. */
final class LocalEtcd implements EtcdRunner {
  @Override
  public Optional<String> obstacle() {
    return program().isPresent()
        ? Optional.empty()
        : Optional.of("there is no etcd on the PATH (apt-get install etcd-server)");
  }

  private static Optional<Path> program() {
    for (String folder : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
      Path file = Path.of(folder, "etcd");
      if (Files.isExecutable(file)) {
        return Optional.of(file);
      }
    }
    return Optional.empty();
  }

  @Override
  public Member start(Path folder, List<String> options) throws IOException {
    List<String> command = new ArrayList<>(List.of(program().orElseThrow().toString()));
    command.addAll(options);
    return new Running(
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()))
            .start());
  }

  private record Running(Process process) implements Member {
    @Override
    public boolean isAlive() {
      return process.isAlive();
    }

    @Override
    public void kill() throws InterruptedException {
      process.destroyForcibly().waitFor();
    }

    @Override
    public void freeze(boolean frozen) throws Exception {
      int status =
          new ProcessBuilder("kill", frozen ? "-STOP" : "-CONT", Long.toString(process.pid()))
              .start()
              .waitFor();
      if (status != 0) {
        throw new IOException("kill ended with " + status);
      }
    }
  }
}
