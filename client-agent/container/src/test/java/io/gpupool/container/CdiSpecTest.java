// SPDX-License-Identifier: Apache-2.0
package io.gpupool.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.container.CdiSpec.Device;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CdiSpecTest {
  private static final ContainerWiring WIRING =
      new ContainerWiring(Path.of("/opt/gpupool/shim"), Path.of("/run/gpupool"));

  @Test
  void json_oneMountAndVariable_isAsEnginesReadIt() {
    Device device =
        new Device(
            "quarter",
            List.of(new ContainerWiring.Mount("/opt/a \"b\"", "/usr/lib64/a")),
            Map.of("GPUPOOL_FRACTION", "0.25"));
    assertThat(new CdiSpec("gpupool.io/gpu", List.of(device)).json())
        .isEqualTo(
            """
            {
              "cdiVersion": "0.3.0",
              "kind": "gpupool.io/gpu",
              "devices": [
                {
                  "name": "quarter",
                  "containerEdits": {
                    "env": [
                      "GPUPOOL_FRACTION=0.25"
                    ],
                    "mounts": [
                      {
                        "hostPath": "/opt/a \\"b\\"",
                        "containerPath": "/usr/lib64/a",
                        "options": [
                          "ro",
                          "nosuid",
                          "nodev",
                          "bind"
                        ]
                      }
                    ]
                  }
                }
              ]
            }
            """);
  }

  @Test
  void shared_anyWiring_hasAllOfIt() {
    CdiSpec spec = CdiSpec.shared(WIRING);
    assertThat(spec.qualifiedNames()).containsExactly("gpupool.io/gpu=shared");
    assertThat(spec.devices())
        .singleElement()
        .satisfies(device -> {
          assertThat(device.mounts()).isEqualTo(WIRING.mounts());
          assertThat(device.environment()).isEqualTo(WIRING.environment());
        });
  }

  @Test
  void device_nameThatEnginesRefuse_isRefused() {
    for (String name : List.of("", "0.5", "a b", "a-", "ä", "-a")) {
      assertThatThrownBy(() -> new Device(name, List.of(), Map.of()))
          .as(name)
          .hasMessageContaining("'" + name + "'");
    }
  }

  @Test
  void write_fileThere_isReplacedAndNothingElseLeft(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("cdi").resolve(CdiSpec.FILE);
    CdiSpec spec = CdiSpec.shared(WIRING);
    spec.write(file);
    Files.writeString(file, "spoiled");
    spec.write(file);
    assertThat(file).hasContent(spec.json());
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-r--r--");
    try (Stream<Path> files = Files.list(file.getParent())) {
      assertThat(files).containsExactly(file);
    }
  }
}
