// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.graalvm.polyglot.Engine;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.TestFactory;

/** The tests of src/test/js/unit, each as a test of its own. */
class PageScriptsTest {
  private static final Path FILES = Path.of("src/test/js/unit");
  private static final ZoneId UTC = ZoneId.of("UTC");

  private final List<ScriptTests> open = new ArrayList<>();
  private Engine engine;

  @BeforeEach
  void start() {
    engine = ScriptTests.engine();
  }

  @AfterEach
  void close() {
    open.forEach(ScriptTests::close);
    engine.close();
  }

  @TestFactory
  Stream<DynamicNode> scripts_all_pass() throws IOException {
    try (Stream<Path> files = Files.list(FILES)) {
      List<Path> tests =
          files.filter(file -> file.toString().endsWith(".test.js")).sorted().toList();
      assertThat(tests).isNotEmpty();
      return tests.stream().map(file -> testsOf(file, UTC));
    }
  }

  /** Half an hour, and three quarters of one, from the full hours of Greenwich, and behind it. */
  @TestFactory
  Stream<DynamicNode> timesOfDay_inAnyTimeZone_pass() {
    return Stream.of("Asia/Kolkata", "Pacific/Chatham", "America/New_York")
        .map(zone -> testsOf(FILES.resolve("axes.test.js"), ZoneId.of(zone)));
  }

  private DynamicNode testsOf(Path file, ZoneId zone) {
    try {
      ScriptTests tests = new ScriptTests(engine, file, zone);
      open.add(tests);
      return dynamicContainer(
          file.getFileName() + " in " + zone,
          tests.names().map(name -> dynamicTest(name, () -> tests.run(name))));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
