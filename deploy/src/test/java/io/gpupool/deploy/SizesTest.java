// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.TreeScanner;
import io.gpupool.deploy.MainSources.Source;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import javax.lang.model.element.Modifier;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The sizes of the main code's files, methods and lists of parameters. */
class SizesTest {
  private static final long MAX_FILE_LINES = 500;
  private static final long MAX_FILE_LINES_OF_NINE_IN_TEN = 215;
  private static final long MAX_METHOD_LINES = 60;
  private static final int MAX_PARAMETERS = 8;

  private static List<Source> sources;

  @BeforeAll
  static void parse() throws IOException {
    sources = MainSources.all();
    assertThat(sources).hasSizeGreaterThan(900);
  }

  @Test
  void files_all_areShort() throws IOException {
    List<Long> lengths = new ArrayList<>();
    List<String> large = new ArrayList<>();
    for (Source source : sources) {
      long lines = Files.readString(ProjectTree.ROOT.resolve(source.path())).lines().count();
      lengths.add(lines);
      if (lines > MAX_FILE_LINES) {
        report(large, source, lines + " lines");
      }
    }
    assertThat(large).as("at most %d lines", MAX_FILE_LINES).isEmpty();
    assertThat(lengths.stream().sorted().toList().get(lengths.size() * 9 / 10))
        .as("lines of the file that is longer than nine in ten")
        .isLessThanOrEqualTo(MAX_FILE_LINES_OF_NINE_IN_TEN);
  }

  @Test
  void methods_all_areShort() {
    List<String> large = new ArrayList<>();
    for (Source source : sources) {
      new TreeScanner<Void, Void>() {
        @Override
        public Void visitMethod(MethodTree method, Void none) {
          if (method.getBody() != null && source.lines(method) > MAX_METHOD_LINES) {
            report(large, source, method.getName() + ": " + source.lines(method) + " lines");
          }
          return super.visitMethod(method, none);
        }
      }.scan(source.unit(), null);
    }
    assertThat(large).as("at most %d lines", MAX_METHOD_LINES).isEmpty();
  }

  @Test
  void constructorsAndRecords_all_haveFewParameters() {
    List<String> large = new ArrayList<>();
    for (Source source : sources) {
      new TreeScanner<Void, Void>() {
        @Override
        public Void visitClass(ClassTree type, Void none) {
          long parameters =
              type.getMembers().stream()
                  .mapToLong(member -> parameters(type, member))
                  .max()
                  .orElse(0);
          long components =
              type.getKind() == Tree.Kind.RECORD
                  ? type.getMembers().stream().filter(SizesTest::isComponent).count()
                  : 0;
          if (Math.max(parameters, components) > MAX_PARAMETERS) {
            report(
                large,
                source,
                type.getSimpleName() + ": " + Math.max(parameters, components) + " parameters");
          }
          return super.visitClass(type, none);
        }
      }.scan(source.unit(), null);
    }
    assertThat(large).as("at most %d parameters", MAX_PARAMETERS).isEmpty();
  }

  private static long parameters(ClassTree type, Tree member) {
    return member instanceof MethodTree method && method.getReturnType() == null
        ? method.getParameters().size()
        : 0;
  }

  private static boolean isComponent(Tree member) {
    return member instanceof VariableTree variable
        && !variable.getModifiers().getFlags().contains(Modifier.STATIC);
  }

  private static void report(List<String> large, Source source, String what) {
    large.add(source.path() + ": " + what);
  }
}
