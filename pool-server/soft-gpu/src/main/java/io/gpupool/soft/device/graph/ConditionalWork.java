// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.graph;

import io.gpupool.soft.device.context.ContextWork;
import io.gpupool.soft.device.work.CompletionHandoff;
import java.util.List;
import java.util.Optional;

/**
 * A conditional node in one launch of its graph: asks for the condition's value when all before it
 * is done, and is over when no body has to run any more.
 */
final class ConditionalWork extends ContextWork {
  private final GraphOperation.Conditional conditional;
  private final List<GraphRun> bodies;

  /** Whether a body has been run; used by one thread after the other. */
  private boolean begun;

  ConditionalWork(GraphOperation.Conditional conditional, List<GraphRun> bodies) {
    super(conditional.condition().context());
    this.conditional = conditional;
    this.bodies = bodies;
  }

  @Override
  protected boolean run() {
    for (Optional<GraphRun> body = next(); body.isPresent(); body = next()) {
      CompletionHandoff ending = new CompletionHandoff();
      begun = true;
      body.get()
          .start(context())
          .whenDone(() -> {
            if (ending.end()) {
              goOn();
            }
          });
      if (!ending.isOverOnceBegun()) {
        return false;
      }
    }
    return true;
  }

  /** Its bodies do. */
  @Override
  protected boolean touchesMemory() {
    return false;
  }

  /** On the thread that ended a body. */
  private void goOn() {
    // What follows a fault of the body is a matter of start.
    if (start()) {
      context().device().gpu().scheduler().finish(this);
    }
  }

  private Optional<GraphRun> next() {
    if (context().fault().isPresent() || begun && !conditional.kind().repeats()) {
      return Optional.empty();
    }
    int body = conditional.kind().body(conditional.condition().value(), bodies.size());
    return body < 0 ? Optional.empty() : Optional.of(bodies.get(body));
  }
}
