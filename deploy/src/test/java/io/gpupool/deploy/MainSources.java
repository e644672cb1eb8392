// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** The parsed Java sources of all modules' main code. */
final class MainSources {
  private MainSources() {}

  /**
   * A parsed file.
   *
   * @param path relative to the root
   */
  record Source(Path path, CompilationUnitTree unit, SourcePositions positions) {
    /** Returns the number of lines of a part, comments before it not counted. */
    long lines(Tree part) {
      return line(positions.getEndPosition(unit, part))
          - line(positions.getStartPosition(unit, part))
          + 1;
    }

    private long line(long position) {
      return unit.getLineMap().getLineNumber(position);
    }
  }

  /** Returns all files, in the order of their paths. */
  static List<Source> all() throws IOException {
    List<Path> paths =
        ProjectTree.files().stream()
            .filter(
                path -> path.toString().matches("(?!deploy/examples/).*src/main/java/.*\\.java"))
            .toList();
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      JavacTask task =
          (JavacTask)
              compiler.getTask(
                  null,
                  files,
                  null,
                  List.of("-proc:none"),
                  null,
                  files.getJavaFileObjectsFromPaths(
                      paths.stream().map(ProjectTree.ROOT::resolve).toList()));
      SourcePositions positions = Trees.instance(task).getSourcePositions();
      List<Source> sources = new ArrayList<>();
      for (CompilationUnitTree unit : task.parse()) {
        sources.add(
            new Source(
                ProjectTree.ROOT.relativize(Path.of(unit.getSourceFile().toUri())),
                unit,
                positions));
      }
      return sources;
    }
  }
}
