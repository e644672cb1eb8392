// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The checklist of the guide, and what it promises of every op. */
class DriverCallGuideTest {
  private static final Path REPOSITORY = Path.of("../..");
  private static final Pattern ROW = Pattern.compile("\\| `(\\S+/\\S+)` \\| `([^`]+)` \\|");

  @Test
  void checklist_eachFile_holdsTheExample() throws IOException {
    Map<String, String> checklist = checklist();

    assertThat(checklist).hasSizeBetween(8, 9);
    for (Map.Entry<String, String> row : checklist.entrySet()) {
      assertThat(REPOSITORY.resolve(row.getKey())).content().contains(row.getValue());
    }
  }

  @Test
  void goldenFrames_ofTheContract_areOneAnOp() throws IOException {
    assertThat(Files.readAllLines(Path.of("src/test/golden/frames.txt")))
        .extracting(line -> line.split(" ")[0])
        .containsExactlyElementsOf(
            Contract.read(ContractTest.FOLDER).ops().stream().map(Op::name).toList());
  }

  private static Map<String, String> checklist() throws IOException {
    Map<String, String> rows = new TreeMap<>();
    String guide = Files.readString(REPOSITORY.resolve("docs/how-to/add-a-driver-call.md"));
    Matcher row = ROW.matcher(guide.substring(guide.indexOf("## Checklist")));
    while (row.find()) {
      rows.put(row.group(1), row.group(2));
    }
    return rows;
  }
}
