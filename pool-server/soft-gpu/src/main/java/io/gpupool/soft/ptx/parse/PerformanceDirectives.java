// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.ClusterDemand;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.parse.Token.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * The performance-tuning directives of a translation unit's functions, such as {@code .maxntid},
 * and those for clusters, which stand in the same place.
 */
final class PerformanceDirectives {
  /** The largest block of any card. */
  private static final int MAX_THREADS = 1024;

  /** More than any cluster has, and little enough that three of them can be multiplied. */
  private static final int MAX_CLUSTER_EXTENT = 1024;

  private final Lexer lexer;
  private final Map<String, Integer> maxThreads = new HashMap<>();
  private final Map<String, ClusterDemand> clusters = new HashMap<>();

  PerformanceDirectives(Lexer lexer) {
    this.lexer = lexer;
  }

  /** Returns the threads that a block of a kernel may have. */
  int maxThreadsPerBlock(String kernel) {
    return maxThreads.getOrDefault(kernel, MAX_THREADS);
  }

  /** Returns a kernel's demand on clusters. */
  ClusterDemand cluster(String kernel) {
    return clusters.getOrDefault(kernel, ClusterDemand.NONE);
  }

  /**
   * Parses the directives between a function's head and its body.
   *
   * @return an instruction for each directive that the compiler has to refuse
   */
  List<Statement> parse(String function) throws PtxException {
    List<Statement> demands = new ArrayList<>();
    while (lexer.peek().kind() == Kind.DOTTED) {
      Token directive = lexer.next();
      switch (directive.text()) {
        case ".maxntid", ".reqntid" -> {
          long threads = 1;
          for (long extent : integers()) {
            threads = Math.min(MAX_THREADS, threads * Math.max(1, extent));
          }
          maxThreads.put(function, (int) threads);
        }
        case ".reqnctapercluster" -> {
          int[] size = {1, 1, 1};
          List<Long> given = integers();
          for (int axis = 0; axis < Math.min(given.size(), size.length); axis++) {
            size[axis] = Math.clamp(given.get(axis), 1, MAX_CLUSTER_EXTENT);
          }
          demand(function, demand -> demand.withSize(size[0], size[1], size[2]));
        }
        case ".maxclusterrank" -> {
          int blocks = Math.clamp(integers().getFirst(), 1, MAX_CLUSTER_EXTENT);
          demand(function, demand -> demand.withMaxBlocks(blocks));
        }
        case ".explicitcluster" -> demand(function, ClusterDemand::asExplicit);
        case ".blocksareclusters" ->
            demands.add(
                new Instruction(
                    directive.line(),
                    directive.column(),
                    null,
                    directive.text().substring(1),
                    List.of(),
                    List.of()));
        case ".pragma" -> Tokens.skipTo(lexer, ";");
        case ".noreturn" -> {}
        default -> {
          if (lexer.peek().kind() != Kind.INTEGER) {
            throw Tokens.unexpected(directive);
          }
          integers();
        }
      }
    }
    return demands;
  }

  private void demand(String kernel, UnaryOperator<ClusterDemand> change) {
    clusters.put(kernel, change.apply(cluster(kernel)));
  }

  private List<Long> integers() throws PtxException {
    List<Long> values = new ArrayList<>();
    do {
      values.add(Tokens.integer(lexer, Integer.MAX_VALUE));
    } while (Tokens.accept(lexer, ","));
    return values;
  }
}
