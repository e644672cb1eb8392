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
  void checklist_ofACallByHand_eachFileHoldsTheExample() throws IOException {
    assertHoldsTheExample(checklist("## Checklist of a call by hand"), 8, 9);
  }

  @Test
  void checklist_ofAnAutoCall_eachFileHoldsTheExample() throws IOException {
    assertHoldsTheExample(checklist("## Checklist of an auto call"), 3, 5);
  }

  private static void assertHoldsTheExample(Map<String, String> checklist, int least, int most) {
    assertThat(checklist).hasSizeBetween(least, most);
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

  private static Map<String, String> checklist(String heading) throws IOException {
    String guide = Files.readString(REPOSITORY.resolve("docs/how-to/add-a-driver-call.md"));
    String after = guide.substring(guide.indexOf(heading) + heading.length());
    int end = after.indexOf("\n## ");
    Map<String, String> rows = new TreeMap<>();
    Matcher row = ROW.matcher(end < 0 ? after : after.substring(0, end));
    while (row.find()) {
      rows.put(row.group(1), row.group(2));
    }
    return rows;
  }
}
