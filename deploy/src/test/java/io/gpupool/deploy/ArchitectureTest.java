// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The arrows between modules that docs/design/architecture.md draws, read from the compiled
 * classes.
 */
class ArchitectureTest {
  private static final Path PAGE = ProjectTree.ROOT.resolve("docs/design/architecture.md");

  /** A row of the page's table of modules: the module, its contents, the modules it depends on. */
  private static final Pattern ROW =
      Pattern.compile("\\| `([\\w/-]+)` \\| [^|]+ \\| (nothing|(?:`[\\w/-]+` ?)+) \\|");

  private static final Pattern NAME = Pattern.compile("`([\\w/-]+)`");

  private static Map<String, Set<String>> allowed;
  private static JavaClasses classes;

  @BeforeAll
  static void importClasses() throws IOException {
    allowed = arrows(Files.readString(PAGE));
    assertThat(allowed).hasSizeGreaterThan(10);
    classes =
        new ClassFileImporter()
            .importPaths(
                allowed.keySet().stream()
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
            .filter(to -> !to.equals(from) && !allowed.get(from).contains(to))
            .ifPresent(to ->
                wrong
                    .computeIfAbsent(from + " -> " + to, arrow -> new TreeSet<>())
                    .add(dependency.getDescription()));
      }
    }
    assertThat(wrong).isEmpty();
  }

  @Test
  void arrows_all_areUsed() {
    Map<String, Set<String>> used = new TreeMap<>();
    for (JavaClass type : classes) {
      String from = moduleOf(type).orElseThrow();
      used.computeIfAbsent(from, module -> new TreeSet<>());
      for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
        moduleOf(dependency.getTargetClass())
            .filter(to -> !to.equals(from))
            .ifPresent(to -> used.get(from).add(to));
      }
    }
    assertThat(used).isEqualTo(allowed);
  }

  @Test
  void packages_all_areFreeOfCycles() {
    slices().matching("io.gpupool.(**)").should().beFreeOfCycles().check(classes);
  }

  /** A node's process embeds the agent; nothing else of Kubernetes knows it. */
  @Test
  void kubernetes_allButTheNodesAgent_doNotKnowTheAgent() {
    noClasses()
        .that()
        .resideInAPackage("io.gpupool.k8s..")
        .and()
        .haveNameNotMatching("io\\.gpupool\\.k8s\\.command\\.node\\.NodeAgent(\\$.*)?")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.gpupool.agent..")
        .check(classes);
  }

  /**
   * The arrows of the table; a module is named there by its folder or the last part of it, which is
   * the first such module's.
   */
  private static Map<String, Set<String>> arrows(String page) {
    Map<String, String> folders = new TreeMap<>();
    ROW.matcher(page)
        .results()
        .map(row -> row.group(1))
        .forEach(folder -> {
          folders.put(folder, folder);
          folders.putIfAbsent(folder.substring(folder.lastIndexOf('/') + 1), folder);
        });
    Map<String, Set<String>> arrows = new TreeMap<>();
    ROW.matcher(page)
        .results()
        .forEach(row ->
            arrows.put(
                row.group(1),
                NAME.matcher(row.group(2))
                    .results()
                    .map(name -> folders.get(name.group(1)))
                    .collect(Collectors.toCollection(TreeSet::new))));
    return arrows;
  }

  private static Optional<String> moduleOf(JavaClass type) {
    return type.getSource()
        .filter(source -> source.getUri().getScheme().equals("file"))
        .map(source -> Path.of(source.getUri()))
        .flatMap(file ->
            allowed.keySet().stream()
                .filter(module -> file.startsWith(ProjectTree.ROOT.resolve(module)))
                .findFirst());
  }
}
