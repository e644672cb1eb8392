// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class CloseStepsTest {
  private final List<String> closed = new ArrayList<>();
  private final CloseSteps steps = new CloseSteps();

  @Test
  void run_closesInTheReverseOrderAndWhatIsLastAfterAllOthers() {
    steps.add(() -> closed.add("state"));
    steps.addLast(() -> closed.add("times"));
    steps.addAwaited(done -> {
      closed.add("workers");
      done.run();
    });
    steps.add(() -> closed.add("port"));
    steps.run();
    assertThat(closed).containsExactly("port", "workers", "state", "times");
  }

  @Test
  void run_again_closesNothingTwice() {
    steps.add(() -> closed.add("state"));
    steps.run();
    steps.run();
    assertThat(closed).containsExactly("state");
  }
}
