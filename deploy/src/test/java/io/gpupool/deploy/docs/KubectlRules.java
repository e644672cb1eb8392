// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.gpupool.deploy.ProjectTree;
import io.gpupool.deploy.docs.ShellCommand.Arguments;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Rules for commands of kubectl: known options, and objects that chart or examples have. */
final class KubectlRules {
  private static final Set<String> FLAGS =
      Set.of("-f", "--overwrite", "-A", "--ignore-daemonsets", "--delete-emptydir-data");
  private static final Set<String> VALUED =
      Set.of("-n", "--namespace", "-l", "--selector", "-p", "--type", "--from-literal", "-o");

  /** Commands that take the kind of their objects, by the place of the first object. */
  private static final Set<String> OF_KIND =
      Set.of("get", "delete", "label", "annotate", "patch", "taint");

  private static final Map<String, String> KINDS =
      Map.of(
          "pod", "pod",
          "pods", "pod",
          "secret", "secret",
          "namespace", "namespace",
          "deployment", "deployment",
          "pvc", "pvc",
          "node", "node",
          "resourceslices", "resourceslice");

  private final DocumentedObjects objects;
  private final List<String> problems = new ArrayList<>();

  KubectlRules(DocumentedObjects objects) {
    this.objects = objects;
  }

  List<String> problems(ShellCommand command) {
    // The same letter is a file for one command, and for another it takes no value.
    boolean applies = command.words().contains("apply");
    Arguments arguments =
        applies
            ? command.arguments(Set.of(), Set.of("-n", "-f"))
            : command.arguments(FLAGS, VALUED);
    arguments.values("-n", "--namespace").forEach(this::checkNamespace);
    String verb = arguments.word(0);
    switch (verb) {
      case "apply" -> arguments.values("-f").forEach(this::checkFile);
      case "logs" -> checkObject("pod", arguments.word(1));
      case "exec" -> checkExec(arguments);
      case "create" -> checkCreation(arguments.word(1), arguments.word(2));
      case "rollout" -> require(arguments.word(1).equals("restart"), "no command of rollout");
      case "gpupool" -> checkPlugin(arguments);
      case "cordon", "drain" ->
          require(arguments.positional().size() < 3, "several words after " + verb);
      default -> {
        require(OF_KIND.contains(verb), "no command of kubectl: " + verb);
        checkOfKind(arguments);
      }
    }
    return problems;
  }

  private void checkOfKind(Arguments arguments) {
    String kind = KINDS.get(arguments.word(1));
    require(kind != null, "no kind " + arguments.word(1));
    if (arguments.positional().size() > 2) {
      checkObject(kind, arguments.word(2));
    }
    arguments.positional().stream()
        .skip(3)
        .map(label -> label.replaceFirst("[=-].*", ""))
        .filter(name -> name.startsWith("gpupool.io/"))
        .forEach(name -> require(objects.names().isLabel(name), "no label " + name));
    arguments.values("-l", "--selector").forEach(this::checkSelector);
    arguments.values("-p").forEach(this::checkJson);
  }

  private void checkExec(Arguments arguments) {
    String[] object = arguments.word(1).split("/");
    checkObject(object.length == 2 ? object[0] : "pod", object[object.length - 1]);
    if (!arguments.rest().isEmpty() && arguments.rest().getFirst().equals("gpupool")) {
      CommandsTest.problem(arguments.rest()).ifPresent(problems::add);
    }
  }

  private void checkCreation(String kind, String name) {
    require(Set.of("namespace", "secret").contains(kind), "no kind " + kind);
    require(!kind.equals("secret") || name.equals("generic"), "no kind of secret " + name);
  }

  private void checkPlugin(Arguments arguments) {
    String script = text(Path.of("deploy/kubernetes/kubectl-gpupool"));
    String verb = arguments.word(1);
    require(
        ShellCommand.isPlaceholder(verb) || script.contains("kubectl gpupool " + verb + " "),
        "no command of kubectl gpupool: " + verb);
    if (verb.equals("explain")) {
      checkObject("pod", arguments.word(2));
    }
  }

  private void checkNamespace(String name) {
    require(objects.namespaces().contains(name), "no document creates the namespace " + name);
  }

  private void checkObject(String kind, String name) {
    require(ShellCommand.isPlaceholder(name) || objects.has(kind, name), "no " + kind + " " + name);
  }

  private void checkSelector(String selector) {
    for (String term : selector.split(",")) {
      require(objects.hasLabel(term), "no label " + term);
    }
  }

  private void checkFile(String name) {
    Path file = ProjectTree.ROOT.resolve(name);
    if (Files.isRegularFile(file)) {
      for (String manifest : text(Path.of(name)).split("(?m)^---$")) {
        problems.addAll(objects.names().problems(manifest));
      }
    } else {
      require(ShellCommand.isPlaceholder(name), "no file " + name);
    }
  }

  private void checkJson(String text) {
    try {
      require(!JsonParser.parseString(text).isJsonPrimitive(), "no JSON: " + text);
    } catch (JsonParseException e) {
      problems.add("no JSON: " + text);
    }
  }

  private void require(boolean isRight, String problem) {
    if (!isRight) {
      problems.add(problem);
    }
  }

  private static String text(Path path) {
    try {
      return Files.readString(ProjectTree.ROOT.resolve(path));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
