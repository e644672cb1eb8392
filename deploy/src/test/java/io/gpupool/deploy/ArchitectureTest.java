// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The arrows between modules that docs/design/architecture.md draws, read from the compiled
 * classes.
 */
class ArchitectureTest {
  private static final Set<String> CONTROL =
      Set.of("protocol/runtime", "protocol/wire", "protocol/control", "protocol/transport");
  private static final Map<String, Set<String>> ALLOWED =
      Map.ofEntries(
          entry("protocol/contract", Set.of()),
          entry("protocol/runtime", Set.of()),
          entry("protocol/wire", Set.of()),
          entry("protocol/control", Set.of()),
          entry("protocol/json", Set.of("protocol/control")),
          entry("protocol/transport", Set.of("protocol/wire", "protocol/control")),
          entry("pool-server/soft-gpu", Set.of()),
          entry(
              "pool-server/worker",
              Set.of(
                  "protocol/contract",
                  "protocol/wire",
                  "protocol/transport",
                  "pool-server/soft-gpu")),
          entry("pool-server/server", CONTROL),
          entry(
              "pool-server/rest",
              Set.of(
                  "protocol/control",
                  "protocol/json",
                  "protocol/transport",
                  "client-agent/pool-client",
                  "pool-server/server")),
          entry("client-agent/pool-client", CONTROL),
          entry(
              "client-agent/agent",
              Set.of(
                  "protocol/runtime",
                  "protocol/wire",
                  "protocol/control",
                  "protocol/transport",
                  "client-agent/pool-client")),
          entry(
              "client-agent/cli",
              Set.of(
                  "protocol/runtime",
                  "protocol/wire",
                  "protocol/control",
                  "protocol/json",
                  "protocol/transport",
                  "client-agent/pool-client",
                  "client-agent/agent")),
          entry(
              "pool-server/command",
              Set.of(
                  "protocol/runtime",
                  "protocol/wire",
                  "protocol/control",
                  "protocol/transport",
                  "pool-server/server",
                  "pool-server/rest",
                  "client-agent/pool-client",
                  "client-agent/cli")),
          entry(
              "deploy/command",
              Set.of("client-agent/pool-client", "client-agent/cli", "pool-server/command")),
          entry(
              "k8s-plugin",
              Set.of(
                  "protocol/runtime",
                  "protocol/wire",
                  "protocol/control",
                  "protocol/transport",
                  "client-agent/pool-client",
                  "client-agent/agent")));

  private static JavaClasses classes;

  @BeforeAll
  static void importClasses() {
    classes =
        new ClassFileImporter()
            .importPaths(
                ALLOWED.keySet().stream()
                    .map(module -> ProjectTree.ROOT.resolve(module).resolve("target/classes"))
                    .filter(Files::isDirectory)
                    .toList());
    assertThat(classes).as("compiled classes of the modules").isNotEmpty();
  }

  @Test
  void modules_all_dependOnlyWhereTheArrowsPoint() {
    Map<String, Set<String>> wrong = new TreeMap<>();
    for (JavaClass type : classes) {
      String from = moduleOf(type).orElseThrow();
      for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
        moduleOf(dependency.getTargetClass())
            .filter(to -> !to.equals(from) && !ALLOWED.get(from).contains(to))
            .ifPresent(to ->
                wrong
                    .computeIfAbsent(from + " -> " + to, arrow -> new TreeSet<>())
                    .add(dependency.getDescription()));
      }
    }
    assertThat(wrong).isEmpty();
  }

  @Test
  void packages_all_areFreeOfCycles() {
    slices().matching("io.gpupool.(**)").should().beFreeOfCycles().check(classes);
  }

  /** The agent runs in the process of a node; nothing else of Kubernetes needs it. */
  @Test
  void kubernetes_leasesAndRequests_doNotKnowTheAgent() {
    noClasses()
        .that()
        .resideInAnyPackage(
            "io.gpupool.k8s.admission..",
            "io.gpupool.k8s.controller..",
            "io.gpupool.k8s.drain..",
            "io.gpupool.k8s.request..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.gpupool.agent..")
        .check(classes);
  }

  private static Optional<String> moduleOf(JavaClass type) {
    return type.getSource()
        .filter(source -> source.getUri().getScheme().equals("file"))
        .map(source -> Path.of(source.getUri()))
        .flatMap(file ->
            ALLOWED.keySet().stream()
                .filter(module -> file.startsWith(ProjectTree.ROOT.resolve(module)))
                .findFirst());
  }
}
