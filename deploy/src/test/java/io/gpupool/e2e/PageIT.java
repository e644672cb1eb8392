// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gpupool.e2e.browser.Browser;
import io.gpupool.e2e.browser.Tab;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The web page in a real browser, on a real server, while programs use its GPU. Pictures of every
 * view, as a desk and a telephone show it, light and dark, are left in target/screenshots.
 */
class PageIT {
  private static final Path PICTURES = Distribution.DEPLOY.resolve("target/screenshots");
  private static final List<String> VIEWS =
      List.of("pool", "leases", "queue", "sessions", "tenants", "activity");

  @TempDir private Path folder;

  @Test
  void page_adminCutsACardResizesDrainsAndEvicts_isDoneAndShown() throws IOException {
    Optional<Path> chromium = Browser.installed();
    assumeTrue(chromium.isPresent(), "there is no Chromium (apt-get install chromium)");
    String[] options = {
      "--auth", "tokens", "--state", folder.resolve("state").toString(), "--name", "gpu-1"
    };
    Path profile = Files.createDirectories(folder.resolve("profile"));
    try (Pool pool = Pool.start("soft:2,mem=2Gi", options);
        Browser browser = Browser.start(chromium.get(), profile)) {
      Tab tab = browser.tab();
      tab.look(1280, 860, false);
      tab.open("http://127.0.0.1:" + pool.httpPort() + "/");
      signIn(tab);
      tab.awaitText("GPU 0");
      String[] half = {"-m", "1Gi", "--compute", "10", "--hard"};
      try (Program program =
          pool.run(half, Distribution.LOAD, "kernels").with("GPUPOOL_TOKEN", token()).start()) {
        program.send("how much?");
        program.awaitLine(line -> line.startsWith("load kernels"));
        tab.awaitText("L1");
        pictures(tab);
      }
    }
  }

  private void signIn(Tab tab) throws IOException {
    tab.awaitText("Sign in to the pool");
    assertThat(tab.faults()).filteredOn(fault -> !fault.contains("401")).isEmpty();
    picture(tab, "sign-in");
    tab.type("Token", "gpupool_mistyped");
    tab.press("Enter");
    tab.awaitText("mistyped, has expired or was revoked");
    tab.type("Token", token());
    tab.press("Enter");
    tab.awaitText("Live");
    // The browser itself notes answers of 401.
    tab.complaints().clear();
  }

  private String token() throws IOException {
    return Files.readString(folder.resolve("state/admin.token")).strip();
  }

  private static void pictures(Tab tab) {
    for (String view : VIEWS) {
      for (int width : new int[] {1280, 390}) {
        for (boolean isDark : new boolean[] {false, true}) {
          tab.look(width, 860, isDark);
          tab.evaluate("location.hash = '#/" + view + "'");
          tab.await("probe.isAt('" + view + "')");
          assertThat(tab.faults()).as("%s, %d wide, dark: %s", view, width, isDark).isEmpty();
          picture(tab, view + "-" + width + (isDark ? "-dark" : "-light"));
        }
      }
    }
    tab.look(1280, 860, false);
  }

  private static void picture(Tab tab, String name) {
    tab.picture(PICTURES.resolve(name + ".png"));
  }
}
