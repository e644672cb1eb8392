// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gpupool.control.v1.CreateTokenRequest;
import io.gpupool.control.v1.Role;
import io.gpupool.e2e.browser.Browser;
import io.gpupool.e2e.browser.Tab;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The web page in a real browser, on a real server, while programs use its GPU. Pictures of every
 * view, as a desk and a telephone show it, light and dark, are left in target/screenshots.
 */
class PageIT {
  private static final Path PICTURES = Distribution.DEPLOY.resolve("target/screenshots");
  private static final List<String> VIEWS =
      List.of("pool", "usage", "leases", "queue", "sessions", "tenants", "activity");
  private static final int HEIGHT = 860;
  private static final int DESK = 1280;
  private static final int TELEPHONE = 390;

  @TempDir private Path folder;
  private Pool pool;
  private Browser browser;
  private Tab tab;

  @BeforeEach
  void openPage() throws IOException {
    Optional<Path> chromium = Browser.installed();
    assumeTrue(chromium.isPresent(), "there is no Chromium (apt-get install chromium)");
    Path state = folder.resolve("state");
    pool =
        Pool.start(
            "soft:2,mem=2Gi", "--auth", "tokens", "--state", state.toString(), "--name", "gpu-1");
    browser = Browser.start(chromium.get(), Files.createDirectories(folder.resolve("profile")));
    tab = browser.tab();
    tab.look(DESK, HEIGHT, false);
    tab.open("http://127.0.0.1:" + pool.httpPort() + "/");
  }

  @AfterEach
  void close() {
    if (browser != null) {
      browser.close();
    }
    if (pool != null) {
      pool.close();
    }
  }

  @Test
  void page_adminCutsACardResizesDrainsAndEvicts_isDoneAndShown() {
    signIn();
    cutByKeyboard("left");
    cutByMouse("right");
    try (Program job = run("--partition", "left", "-m", "1Gi", "--compute", "10", "--hard")) {
      job.send("how much?");
      job.awaitLine(line -> line.startsWith("load kernels"));
      tab.awaitText("16 MiB of 1 GiB");
      assertThat(partOfItsBar("left")).isCloseTo(0.5, within(0.01));
      resize();
      makeTenant("vision");
      try (Program waiting = run("--partition", "left", "-m", "512Mi", "--wait", "10m")) {
        tab.await("document.querySelector('nav').textContent.includes('Queue 1')");
        takePictures();
        cancel(waiting);
      }
      drain();
      loseConnection();
      evict(job);
    }
    signInAsReader();
  }

  private void signIn() {
    tab.awaitText("Sign in to the pool");
    assertNoFaultsBut("401");
    picture("sign-in");
    tab.type("Token", "gpupool_mistyped");
    tab.press("Enter");
    tab.awaitText("mistyped, has expired or was revoked");
    tab.type("Token", token());
    tab.press("Enter");
    tab.awaitText("Live");
    tab.awaitText("GPU 1");
    // The browser itself notes answers that are no good.
    assertThat(tab.complaints()).allMatch(complaint -> complaint.contains("401"));
    tab.complaints().clear();
  }

  private void cutByKeyboard(String name) {
    tab.tabTo("Cut a partition of GPU 0 of gpu-1");
    tab.press("Enter");
    tab.awaitText("programs ask for it by this name");
    for (int i = 0; i < 12; i++) {
      tab.press("Tab");
      assertThat(tab.isTrue("!document.activeElement.closest('main, header')"))
          .as("the focus stays in the dialog")
          .isTrue();
    }
    inAllLooks("cut", () -> assertNoFaults("cut"));
    tab.type("Name", name);
    tab.press("Enter");
    tab.awaitText("Partition " + name + " was cut.");
    tab.await("document.activeElement.textContent === 'Cut …'");
  }

  private void cutByMouse(String name) {
    tab.click("Cut a partition of GPU 0 of gpu-1");
    tab.type("Name", name);
    tab.click("Cut");
    tab.awaitText("Partition " + name + " was cut.");
    assertThat(partOfItsBar(name)).isCloseTo(0.5, within(0.01));
  }

  /** Below what is leased it is refused, and the page says why. */
  private void resize() {
    tab.click("Resize partition left");
    tab.type("Memory", "0.5");
    tab.click("Resize");
    tab.await(
        "document.querySelector('dialog [role=alert]').textContent.includes('cannot shrink')");
    assertNoFaultsBut("409");
    picture("resize-refused");
    tab.press("Escape");
    tab.click("Resize partition right");
    tab.type("Memory", "0.75");
    tab.click("Resize");
    tab.awaitText("Partition right was resized.");
    tab.awaitText("768 MiB · 50 %");
    assertThat(partOfItsBar("right")).isCloseTo(0.375, within(0.01));
  }

  private void makeTenant(String name) {
    tab.click("Tenants");
    tab.click("New tenant …");
    tab.type("Name", name);
    tab.type("GPUs", "1.5");
    tab.click("Create");
    tab.awaitText("0 of 1.5");
    tab.click("Tokens of " + name);
    tab.click("New token …");
    tab.click("Create");
    tab.awaitText("it is shown this once");
    assertNoFaults("new token");
    assertThat(tab.text()).contains("gpupool_");
    tab.click("Close");
    tab.awaitText("user");
    tab.click("Close");
  }

  private void cancel(Program waiting) {
    tab.click("Queue");
    tab.click("Cancel request");
    tab.click("Cancel the request");
    tab.awaitText("Nothing waits");
    assertThat(waiting.awaitEnd().errors()).contains("refused");
  }

  private void drain() {
    tab.click("Pool");
    tab.click("Drain server gpu-1");
    tab.awaitText("End the leases that are left after");
    assertNoFaults("drain");
    tab.click("Drain gpu-1");
    tab.awaitText("draining");
    picture("draining");
    try (Program late = run("-m", "1Mi")) {
      assertThat(late.awaitEnd().errors()).contains("drain");
    }
    tab.click("Uncordon server gpu-1");
    tab.awaitNoText("draining");
  }

  private void loseConnection() {
    tab.setOffline(true);
    tab.awaitText("Not connected: the server cannot be reached");
    inAllLooks("not-connected", () -> assertNoFaultsBut("ERR_INTERNET_DISCONNECTED"));
    tab.setOffline(false);
    tab.awaitNoText("Not connected");
    tab.awaitText("16 MiB of 1 GiB");
    assertNoFaultsBut("ERR_INTERNET_DISCONNECTED");
  }

  private void evict(Program job) {
    tab.click("Leases");
    tab.tabTo("Evict lease L1");
    tab.press("Enter");
    tab.awaitText("loses its GPUs at once");
    picture("evict");
    tab.click("Evict L1");
    tab.awaitText("Nothing is leased.");
    assertThat(job.awaitEnd().status()).isNotZero();
    tab.go("#/leases/L1");
    tab.awaitText("ended:");
    tab.press("Escape");
    assertNoFaults("end");
  }

  /** Who may only look is shown who he is, and offered nothing that he may not do. */
  private void signInAsReader() {
    String reader;
    try (Clients admin = new Clients(pool.controlPort(), token())) {
      CreateTokenRequest request =
          CreateTokenRequest.newBuilder()
              .setTenant("vision")
              .setRole(Role.ROLE_READ_ONLY)
              .setValidMillis(3_600_000)
              .build();
      reader = admin.admin().createToken(request).getToken();
    }
    assertThat(tab.text()).contains("admin");
    tab.click("Sign out");
    tab.awaitText("Sign in to the pool");
    tab.complaints().clear();
    tab.type("Token", reader);
    tab.press("Enter");
    tab.awaitText("vision read-only until");
    tab.click("Pool");
    tab.awaitText("768 MiB");
    assertThat(tab.isTrue("document.querySelectorAll('main button').length === 0")).isTrue();
    inAllLooks("reader", () -> assertNoFaults("reader"));
    tab.click("Tenants");
    tab.awaitText("0 of 1.5");
    assertThat(tab.isTrue("!document.querySelector('main').textContent.includes('Quota')"))
        .isTrue();
  }

  private void takePictures() {
    for (String view : VIEWS) {
      tab.go("#/" + view);
      tab.await("document.querySelector(`nav a[href='#/" + view + "'][aria-current]`)");
      tab.awaitNoText("One moment");
      inAllLooks(view, () -> assertNoFaults(view));
    }
    tab.go("#/leases/L1");
    tab.awaitText("granted to");
    inAllLooks("lease", () -> assertNoFaults("lease"));
    tab.press("Escape");
    tab.await("location.hash === '#/leases'");
  }

  private void inAllLooks(String name, Runnable check) {
    for (int width : new int[] {DESK, TELEPHONE}) {
      for (boolean isDark : new boolean[] {false, true}) {
        tab.look(width, HEIGHT, isDark);
        check.run();
        picture(name + "-" + width + (isDark ? "-dark" : "-light"));
      }
    }
    tab.look(DESK, HEIGHT, false);
  }

  private void assertNoFaults(String where) {
    assertThat(tab.faults()).as(where).isEmpty();
  }

  /** What the browser notes of an answer that was meant to be no good is none. */
  private void assertNoFaultsBut(String noted) {
    assertThat(tab.faults()).filteredOn(fault -> !fault.contains(noted)).isEmpty();
    tab.complaints().clear();
  }

  /** How much of the bar of its GPU's memory a partition's frame takes. */
  private double partOfItsBar(String partition) {
    String frame = "[data-part='" + partition + "']";
    tab.await("document.querySelector(\"" + frame + "\")");
    return tab.evaluate(
            "(part => part.getBoundingClientRect().width"
                + " / part.parentElement.getBoundingClientRect().width)"
                + "(document.querySelector(\""
                + frame
                + "\"))")
        .getAsDouble();
  }

  private Program run(String... share) {
    return pool.run(share, Distribution.LOAD, "kernels").with("GPUPOOL_TOKEN", token()).start();
  }

  private String token() {
    try {
      return Files.readString(folder.resolve("state/admin.token")).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void picture(String name) {
    tab.picture(PICTURES.resolve(name + ".png"));
  }
}
