// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import io.gpupool.deploy.ProjectTree;
import io.gpupool.deploy.docs.ShellCommand.Arguments;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Rules for commands of Docker and Podman: mounts, variables, devices and images that there are.
 */
final class EngineRules {
  private static final Set<String> FLAGS = Set.of("--rm", "-it", "-d");
  private static final Set<String> RUN =
      Set.of("-v", "-e", "--device", "--security-opt", "--network", "--name");
  private static final Set<String> BUILD = Set.of("-f", "-t", "--build-arg");
  private static final String HOME = "/opt/gpupool/";
  private static final String DEVICE = "gpupool.io/gpu=";

  private final DocumentedObjects objects;
  private final List<String> problems = new ArrayList<>();

  EngineRules(DocumentedObjects objects) {
    this.objects = objects;
  }

  List<String> problems(ShellCommand command) {
    String verb = command.words().size() > 1 ? command.words().get(1) : "";
    switch (verb) {
      case "run" -> checkRun(command.arguments(FLAGS, RUN));
      case "build" -> checkBuild(command.arguments(Set.of(), BUILD));
      case "load" -> {
        Arguments ignored = command.arguments(Set.of(), Set.of("-i"));
      }
      default -> problems.add("no command of " + command.program() + ": " + verb);
    }
    return problems;
  }

  private void checkRun(Arguments arguments) {
    arguments.values("-v").forEach(this::checkMount);
    for (String variable : arguments.values("-e")) {
      String name = variable.replaceFirst("=.*", "");
      require(
          !name.startsWith("GPUPOOL_") || objects.variables().contains(name),
          "no variable " + name);
    }
    for (String device : arguments.values("--device")) {
      require(
          device.startsWith(DEVICE)
              && objects.devices().contains(device.substring(DEVICE.length())),
          "no document makes the device " + device.replaceFirst(".*=", ""));
    }
  }

  private void checkMount(String mount) {
    String[] parts = mount.split(":");
    require(parts.length == 2 || parts.length == 3 && parts[2].equals("ro"), "no mount " + mount);
    if (parts[0].startsWith(HOME)) {
      String file = parts[0].substring(HOME.length());
      require(objects.isDistributed(file), "no file " + file + " in the distribution");
      require(
          Path.of(parts[0]).getFileName().equals(Path.of(parts[1]).getFileName()),
          mount + " changes the library's name");
    }
  }

  private void checkBuild(Arguments arguments) {
    for (String file : arguments.values("-f")) {
      Path path = Path.of("deploy").resolve(file);
      require(Files.isRegularFile(ProjectTree.ROOT.resolve(path)), "no file " + path);
    }
    for (String image : arguments.values("-t")) {
      require(image.equals(objects.chartImage()), image + " is not " + objects.chartImage());
    }
  }

  private void require(boolean isRight, String problem) {
    if (!isRight) {
      problems.add(problem);
    }
  }
}
