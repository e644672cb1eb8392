// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import io.gpupool.deploy.ProjectTree;
import io.gpupool.deploy.chart.Chart;
import io.gpupool.deploy.docs.ShellCommand.Arguments;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Rules for commands of Helm: the chart takes their values, and the release is the documents'. */
final class HelmRules {
  private static final Set<String> FLAGS = Set.of("--reuse-values", "--create-namespace");
  private static final Set<String> VALUED = Set.of("-n", "--namespace", "--set", "--set-file");

  /** The text of a file, all of which are roots of certificates. */
  private static final String CERTIFICATE = "-----BEGIN CERTIFICATE-----";

  private final DocumentedObjects objects;
  private final List<String> problems = new ArrayList<>();

  HelmRules(DocumentedObjects objects) {
    this.objects = objects;
  }

  /** Returns the problems of a command, or of options by themselves. */
  List<String> problems(ShellCommand command) {
    List<String> words = new ArrayList<>(command.words());
    if (words.getFirst().startsWith("--")) {
      words.addAll(0, List.of("helm", "install", "gpupool", "deploy/charts/gpupool"));
    }
    Arguments arguments = new ShellCommand(words).arguments(FLAGS, VALUED);
    String verb = arguments.word(0);
    require(
        Set.of("install", "upgrade", "uninstall").contains(verb), "no command of helm: " + verb);
    String release = arguments.word(1);
    require(
        ShellCommand.isPlaceholder(release) || release.equals("gpupool"),
        "the release is gpupool, not " + release);
    for (String name : arguments.values("-n", "--namespace")) {
      require(objects.namespaces().contains(name), "no document creates the namespace " + name);
    }
    String chart = arguments.word(2);
    require(
        ShellCommand.isPlaceholder(chart)
            || Files.isRegularFile(ProjectTree.ROOT.resolve(chart).resolve("Chart.yaml")),
        "no chart " + chart);
    checkValues(arguments);
    return problems;
  }

  private void checkValues(Arguments arguments) {
    Chart rendered = Chart.of(Chart.NEWEST);
    for (String setting : arguments.values("--set")) {
      String[] parts = setting.split("=", 2);
      set(rendered, parts[0], parts.length == 2 ? parts[1] : "");
      require(
          !parts[0].equals("image.repository") || objects.images().contains(parts[1]),
          "no document builds the image " + parts[1]);
    }
    for (String setting : arguments.values("--set-file")) {
      rendered.set(setting.replaceFirst("=.*", ""), CERTIFICATE);
    }
    if (!arguments.options().isEmpty()) {
      try {
        require(!rendered.documents().isEmpty(), "the chart has nothing with these values");
      } catch (RuntimeException e) {
        problems.add("the chart refuses " + arguments.values("--set") + ": " + e.getMessage());
      }
    }
  }

  /** Sets a value, of which {@code {a,b}} is a list. */
  private static void set(Chart chart, String name, String value) {
    if (value.startsWith("{")) {
      String list = "[" + value.substring(1, value.length() - 1) + "]";
      String tail = "}".repeat(name.split("\\.").length);
      chart.values("{" + name.replace(".", ": {") + ": " + list + tail);
    } else {
      chart.set(name, value);
    }
  }

  private void require(boolean isRight, String problem) {
    if (!isRight) {
      problems.add(problem);
    }
  }
}
