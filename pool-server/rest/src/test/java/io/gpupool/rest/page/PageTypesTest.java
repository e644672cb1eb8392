// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.page;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** The page's modules by their types, and faults that the check must find in them. */
class PageTypesTest {
  private static final List<Planted> FAULTS =
      List.of(
          new Planted(
              "views/leases.js", "lease.timeLimitMillis", "lease.timeLimit", "Property timeLimit"),
          new Planted(
              "views/sessions.js",
              "session.driverMemoryBytes",
              "session.computePercent",
              "Property computePercent never defined on rest.Session"),
          new Planted(
              "views/queue.js", "duration(request", "duration(request.wanted, request", "called"),
          new Planted("cards.js", "card.gpu.memoryBytes -", "card.gpu.name -", "left operand"),
          new Planted("history.js", "server.state}", "server.status}", "Property status"),
          new Planted(
              "dialogs/tenant.js", "quotaFrom(data)", "quotaFrom(data, 1)", "called with 2"),
          new Planted(
              "format.js", "toLocaleTimeString('en-GB')", "getTime()", "inconsistent return type"),
          new Planted("pool.js", "thing.stream !==", "thing.streams !==", "Property streams"),
          new Planted("main.js", "pool.setConnection", "pool.settle", "private"),
          new Planted("views/usage.js", "MEASURES.waited", "MEASURES.late", "Property late"));

  /** Faults that the compiler finds before it looks at types. */
  private static final List<Planted> EARLY_FAULTS =
      List.of(
          new Planted("parts/axes.js", "roundUp(highest)", "roundUp(heighest)", "undeclared"),
          new Planted("owners.js", " * @param {string} tenant\n", "", "must have JSDoc"));

  private record Planted(String module, String right, String wrong, String complaint) {}

  @Test
  void modules_all_haveTheTypesTheySay() throws IOException {
    assertThat(TypeChecker.faults(TypeChecker.modules())).isEmpty();
  }

  @Test
  void modules_withFaultyTypes_areRefused() throws IOException {
    assertRefused(FAULTS);
  }

  @Test
  void modules_withUndeclaredNamesOrTypes_areRefused() throws IOException {
    assertRefused(EARLY_FAULTS);
  }

  private static void assertRefused(List<Planted> faults) throws IOException {
    Map<String, String> modules = TypeChecker.modules();
    for (Planted fault : faults) {
      String source = Objects.requireNonNull(modules.get(fault.module));
      assertThat(source).as(fault.module).contains(fault.right);
      modules.put(fault.module, source.replace(fault.right, fault.wrong));
    }
    List<String> complaints = TypeChecker.faults(modules);
    for (Planted fault : faults) {
      assertThat(complaints)
          .as(fault.module)
          .anyMatch(each -> each.startsWith(fault.module + ":") && each.contains(fault.complaint));
    }
  }
}
