// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.deploy.ProjectTree;
import io.gpupool.deploy.docs.Page.Kind;
import io.gpupool.deploy.docs.Page.Line;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The timers that docs/design/lifecycle.md shows, and the constants of the code that they are. */
class TimersTest {
  private static final Path PAGE = Path.of("docs/design/lifecycle.md");

  /** A type and its constant, or a C file and its own. */
  private static final Pattern ROW =
      Pattern.compile(
          "\\| (.+) \\| ([\\d.]+) s(?: each)? \\|"
              + " (?:`(\\w+)\\.([A-Z_]+)`|`(\\w+\\.c)` `([A-Z_]+)`) \\|");

  private static final Pattern DURATION =
      Pattern.compile("Duration\\.of(Seconds|Millis)\\((\\d+)\\)");
  private static final Pattern TO_NANOS =
      Pattern.compile("TimeUnit\\.SECONDS\\.toNanos\\((\\d+)\\)");

  private record Timer(String name, Duration length, String file, String constant) {}

  @Test
  void timers_ofTheLifecycle_areThoseOfTheCode() throws IOException {
    List<Timer> timers = timers();
    assertThat(timers).hasSizeGreaterThan(15);
    for (Timer timer : timers) {
      assertThat(value(timer)).as(timer.name()).isEqualTo(timer.length());
    }
  }

  private static List<Timer> timers() throws IOException {
    List<Timer> timers = new ArrayList<>();
    for (Line line : Page.read(PAGE).lines(Kind.TABLE)) {
      Matcher row = ROW.matcher(line.text());
      if (row.matches()) {
        long millis = Math.round(Double.parseDouble(row.group(2)) * 1000);
        boolean java = row.group(3) != null;
        timers.add(
            new Timer(
                row.group(1),
                Duration.ofMillis(millis),
                java ? row.group(3) + ".java" : row.group(5),
                java ? row.group(4) : row.group(6)));
      }
    }
    return timers;
  }

  private static Duration value(Timer timer) throws IOException {
    String value = declared(timer);
    Matcher duration = DURATION.matcher(value);
    if (duration.matches()) {
      long amount = Long.parseLong(duration.group(2));
      return duration.group(1).equals("Seconds")
          ? Duration.ofSeconds(amount)
          : Duration.ofMillis(amount);
    }
    Matcher nanos = TO_NANOS.matcher(value);
    if (nanos.matches()) {
      return Duration.ofSeconds(Long.parseLong(nanos.group(1)));
    }
    long amount = Long.parseLong(value.replace("_", ""));
    MatchResult unit = unit(timer.constant());
    return switch (unit.group()) {
      case "SECONDS" -> Duration.ofSeconds(amount);
      case "MILLIS" -> Duration.ofMillis(amount);
      default -> Duration.ofNanos(amount);
    };
  }

  private static MatchResult unit(String constant) {
    Matcher unit = Pattern.compile("(SECONDS|MILLIS|NANOS)$").matcher(constant);
    assertThat(unit.find()).as("unit of %s", constant).isTrue();
    return unit.toMatchResult();
  }

  /** Returns the value of the constant in the one source file of this name that has it. */
  private static String declared(Timer timer) throws IOException {
    Pattern declaration = Pattern.compile("\\b" + timer.constant() + " =\\s+([^;,]+)");
    List<String> values = new ArrayList<>();
    for (Path path : ProjectTree.files()) {
      if (path.endsWith(timer.file()) && path.toString().contains("src/main/")) {
        declaration
            .matcher(Files.readString(ProjectTree.ROOT.resolve(path)))
            .results()
            .forEach(found -> values.add(found.group(1).strip()));
      }
    }
    assertThat(values).as("%s in %s", timer.constant(), timer.file()).hasSize(1);
    return values.getFirst();
  }
}
