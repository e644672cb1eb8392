// SPDX-License-Identifier: Apache-2.0
package io.gpupool.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.container.ContainerWiring.Mount;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RunOptionLineTest {
  @Test
  void line_mountsAndVariables_isOfOneLine() {
    assertThat(
            RunOptionLine.of(
                List.of(new Mount("/a/b.so.1", "/usr/b.so.1"), new Mount("/run/a", "/run/a")),
                Map.of("GPUPOOL_FRACTION", "0.5")))
        .isEqualTo("-v /a/b.so.1:/usr/b.so.1:ro -v /run/a:/run/a:ro -e GPUPOOL_FRACTION=0.5");
  }

  @Test
  void line_pathThatShellOrEngineWouldSplit_isRefused() {
    for (String path : List.of("/a b", "/a:b", "/a*", "/$HOME", "/a\nb", "/a'b")) {
      assertThatThrownBy(() -> RunOptionLine.of(List.of(new Mount(path, "/x")), Map.of()))
          .as(path)
          .hasMessageContaining(path)
          .hasMessageContaining("gpupool container cdi");
    }
  }
}
