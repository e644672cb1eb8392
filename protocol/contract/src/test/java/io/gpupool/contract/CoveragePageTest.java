// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CoveragePageTest {
  @TempDir Path folder;

  @Test
  void page_everyEntryPoint_isCountedAndListedWithItsReason() throws IOException {
    Files.writeString(folder.resolve("types.txt"), "");
    Files.writeString(folder.resolve("finders.txt"), "");
    Files.writeString(folder.resolve("wire.txt"), "");
    Files.writeString(folder.resolve("results.txt"), "");
    Files.writeString(folder.resolve("ops.txt"), "");
    Files.writeString(
        folder.resolve("device.contract"),
        """
        cuInit 2000 local hand
            (unsigned int Flags)
        cuOther 11040 refused "no such thing" ptsz
            (void)
        """);

    String page = new CoveragePage(Contract.read(folder)).text();

    assertThat(page)
        .contains("| local | 1 | 1 |", "| refused | 1 | 2 |", "| all | 2 | 3 | |")
        .contains("| `cuInit` | 2.0 | local |  |")
        .contains("| `cuOther`, `_ptsz` | 11.4 | refused | no such thing |");
  }

  @Test
  void contract_refusedEntryPoints_haveAReasonThatIsOne() throws IOException {
    String page = new CoveragePage(Contract.read(Path.of("src/main/contract"))).text();

    assertThat(page.lines().filter(line -> line.contains("| refused |")))
        .isNotEmpty()
        .noneMatch(line -> line.endsWith("| refused |  |"))
        .noneMatch(line -> line.contains("not yet") || line.contains("not supported |"));
  }
}
