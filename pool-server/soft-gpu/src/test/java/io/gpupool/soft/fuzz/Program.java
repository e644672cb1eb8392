// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.Launch;
import java.util.ArrayList;
import java.util.List;

/**
 * A generated kernel with the functions it may call.
 *
 * @param name of the kernel
 * @param header what stands before all bodies: tables, prototypes
 * @param bodies the functions in order, the kernel last
 */
record Program(String name, Launch launch, String header, List<Body> bodies) {
  /**
   * A function.
   *
   * @param head all up to its statements, the opening brace included
   */
  record Body(String head, List<Node> nodes) {}

  static final String PREAMBLE = ".version 8.6\n.target sm_90\n.address_size 64\n";

  /** Its PTX, without {@link #PREAMBLE}. */
  String text() {
    StringBuilder text = new StringBuilder(header);
    for (Body body : bodies) {
      text.append(body.head());
      Node.render(body.nodes(), text);
      text.append("}\n");
    }
    return text.toString();
  }

  /** Threads of the grid. */
  int threads() {
    return launch.grid().x() * launch.block().x() * launch.block().y();
  }

  /** Versions that lack a piece, or have fewer threads. */
  List<Program> smaller() {
    List<Program> versions = new ArrayList<>();
    if (launch.grid().x() > 1) {
      versions.add(on(1, launch.block().x(), launch.block().y()));
    }
    if (launch.block().y() > 1) {
      versions.add(on(launch.grid().x(), launch.block().x(), 1));
    }
    if (launch.block().x() > 1) {
      versions.add(on(launch.grid().x(), 1, launch.block().y()));
      versions.add(on(launch.grid().x(), (launch.block().x() + 1) / 2, launch.block().y()));
    }
    for (int i = bodies.size() - 1; i >= 0; i--) {
      Body body = bodies.get(i);
      for (List<Node> nodes : Node.smaller(body.nodes())) {
        List<Body> changed = new ArrayList<>(bodies);
        changed.set(i, new Body(body.head(), nodes));
        versions.add(new Program(name, launch, header, changed));
      }
    }
    return versions;
  }

  private Program on(int grid, int blockX, int blockY) {
    Launch fewer =
        new Launch(new Dim3(grid), new Dim3(blockX, blockY), launch.dynamicSharedBytes(), false);
    return new Program(name, fewer, header, bodies);
  }
}
