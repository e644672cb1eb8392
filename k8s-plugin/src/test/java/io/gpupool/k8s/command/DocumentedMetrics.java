// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A comparison of docs/reference/metrics.md with the metrics that a process shows. */
public final class DocumentedMetrics {
  private static final Path DOCUMENT =
      Path.of(System.getProperty("gpupool.root")).resolve("docs/reference/metrics.md");
  private static final Pattern TYPE = Pattern.compile("# TYPE (\\w+) (\\w+)");
  private static final Pattern LABEL = Pattern.compile("[{,](\\w+)=");

  private DocumentedMetrics() {}

  public static void require(String page) throws IOException {
    List<String> rows = Files.readAllLines(DOCUMENT);
    String row = "";
    int metrics = 0;
    for (String line : page.lines().toList()) {
      Matcher type = TYPE.matcher(line);
      if (type.matches()) {
        String start = "| `" + type.group(1) + "` | " + type.group(2) + " |";
        assertThat(rows).as(line).anyMatch(text -> text.startsWith(start));
        row = rows.stream().filter(text -> text.startsWith(start)).findFirst().orElseThrow();
        metrics++;
      } else if (!line.startsWith("#")) {
        Matcher label = LABEL.matcher(line);
        while (label.find()) {
          String name = label.group(1);
          assertThat(name.equals("le") || row.contains("`" + name + "`")).as(line).isTrue();
        }
      }
    }
    assertThat(metrics).isPositive();
  }
}
