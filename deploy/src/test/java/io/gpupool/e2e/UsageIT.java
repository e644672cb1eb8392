// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gpupool.control.state.v1.GpuHistoryRecord;
import io.gpupool.control.state.v1.HistoryLeaseRecord;
import io.gpupool.control.state.v1.HistoryRecord;
import io.gpupool.control.state.v1.PortionRecord;
import io.gpupool.control.state.v1.SampleRecord;
import io.gpupool.e2e.browser.Browser;
import io.gpupool.e2e.browser.Tab;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * History of GPUs' use, as a real server keeps it over restarts and a real browser draws it.
 * Pictures are left in target/screenshots.
 */
class UsageIT {
  private static final Path PICTURES = Distribution.DEPLOY.resolve("target/screenshots");
  private static final int HEIGHT = 860;
  private static final int DESK = 1280;
  private static final int TELEPHONE = 390;
  private static final int MARK = 0x47505548;
  private static final int LEASES = 12;
  private static final long MEMORY = 2L << 30;
  private static final String AREAS = "document.querySelectorAll('.usage .area')";

  @TempDir private Path folder;

  private Pool start() {
    return Pool.start("soft:2,mem=2Gi", "--state", folder.resolve("state").toString());
  }

  /** Of the first GPU: an hour and a day with leases that come and go, and a gap in both. */
  private static GpuHistoryRecord history(String uuid) {
    GpuHistoryRecord.Builder gpu = GpuHistoryRecord.newBuilder().setUuid(uuid);
    for (int lease = 0; lease < LEASES; lease++) {
      gpu.addLeases(
          HistoryLeaseRecord.newBuilder()
              .setId("L" + (lease + 1))
              .setTenant(lease % 2 == 0 ? "vision" : "speech")
              .setProgram("train" + lease)
              .setHolder("ada@pc"));
    }
    long now = System.currentTimeMillis();
    for (int i = 359; i >= 0; i--) {
      if (i < 200 || i > 230) {
        gpu.addHour(sample(now - i * 10_000L, 10_000, i));
      }
    }
    for (int i = 287; i >= 0; i--) {
      if (i < 100 || i > 130) {
        gpu.addDay(sample(now - i * 300_000L, 300_000, i));
      }
    }
    return gpu.build();
  }

  private static SampleRecord sample(long atMillis, long millis, int number) {
    SampleRecord.Builder sample = SampleRecord.newBuilder().setAtMillis(atMillis).setMillis(millis);
    for (int lease = 0; lease < LEASES; lease++) {
      if ((number + 20 * lease) % 300 > 40 * (lease % 3)) {
        long nanos = millis * 1_000_000;
        double wave = 0.5 + 0.5 * Math.sin((number + 10 * lease) / 15.0);
        sample.addPortions(
            PortionRecord.newBuilder()
                .setLease(lease)
                .setGrantedNanos(nanos / (lease < 2 ? 4 : 25))
                .setUsedNanos((long) (nanos / (lease < 2 ? 4 : 25) * wave))
                .setWaitedNanos((long) (nanos / 20 * (1 - wave)))
                .setUsedBytes((long) (MEMORY / 16 * wave))
                .setGrantedBytes(MEMORY / 14));
      }
    }
    return sample.build();
  }

  private void write(HistoryRecord record) throws IOException {
    byte[] body = record.toByteArray();
    CRC32C crc = new CRC32C();
    crc.update(body, 0, body.length);
    Files.write(
        folder.resolve("state/gpu-history"),
        ByteBuffer.allocate(16 + body.length)
            .putInt(MARK)
            .putInt(1)
            .putInt(body.length)
            .putInt((int) crc.getValue())
            .put(body)
            .array());
  }

  @Test
  void page_whatGpusWereUsedFor_isDrawnByLease() throws IOException {
    Optional<Path> chromium = Browser.installed();
    assumeTrue(chromium.isPresent(), "there is no Chromium (apt-get install chromium)");
    String uuid;
    try (Pool pool = start()) {
      uuid = pool.gpus().getFirst().getUuid();
      try (Browser browser = browser(chromium.get())) {
        Tab tab = browser.tab();
        open(tab, pool);
        // On a busy machine the first sample may come before the browser.
        tab.await("/Nothing (is known yet|was leased)/.test(probe.text())");
        inLook(tab, "usage-new", DESK, false);
      }
    }
    assertThat(folder.resolve("state/gpu-history")).exists();
    write(HistoryRecord.newBuilder().addGpus(history(uuid)).build());
    try (Pool pool = start();
        Browser browser = browser(chromium.get())) {
      Tab tab = browser.tab();
      open(tab, pool);
      // Eight leases and the others, in each of the four plots.
      tab.await(AREAS + ".length === 36");
      assertThat(tab.text())
          .contains("Memory used", "L1 train0 ada@pc", "others", "100 %", "2 GiB");
      assertThat(drawnHeight(tab)).as("areas are drawn").isGreaterThan(20);
      inAllLooks(tab, "usage-hour");
      String hour = firstArea(tab);
      tab.click("Last day");
      tab.await(
          "document.querySelector(\"[aria-pressed='true']\").textContent === 'Last day' && "
              + AREAS
              + ".length === 36 && "
              + AREAS
              + "[0].getAttribute('d') !== '"
              + hour
              + "'");
      inLook(tab, "usage-day", TELEPHONE, true);
    }
  }

  @Test
  void page_aLeaseThatWorksNow_isThereSoon() throws IOException {
    Optional<Path> chromium = Browser.installed();
    assumeTrue(chromium.isPresent(), "there is no Chromium (apt-get install chromium)");
    try (Pool pool = start();
        Program job =
            pool.run(
                    new String[] {"-m", "1Gi", "--compute", "50", "--hard"},
                    Distribution.LOAD,
                    "kernels")
                .start();
        Browser browser = browser(chromium.get())) {
      job.send("how much?");
      job.awaitLine(line -> line.startsWith("load kernels"));
      Tab tab = browser.tab();
      open(tab, pool);
      tab.awaitText("L1 ");
      tab.await(AREAS + ".length === 4");
      assertThat(tab.faults()).isEmpty();
    }
  }

  private Browser browser(Path chromium) throws IOException {
    return Browser.start(chromium, Files.createTempDirectory(folder, "profile"));
  }

  private static void open(Tab tab, Pool pool) {
    tab.look(DESK, HEIGHT, false);
    tab.open("http://127.0.0.1:" + pool.httpPort() + "/#/usage");
    tab.awaitText("GPU 1 of");
    tab.awaitNoText("One moment");
  }

  private static String firstArea(Tab tab) {
    return tab.evaluate(AREAS + "[0].getAttribute('d')").getAsString();
  }

  private static double drawnHeight(Tab tab) {
    return tab.evaluate(AREAS + "[0].getBoundingClientRect().height").getAsDouble();
  }

  private static void inAllLooks(Tab tab, String name) {
    for (int width : List.of(DESK, TELEPHONE)) {
      for (boolean isDark : new boolean[] {false, true}) {
        inLook(tab, name, width, isDark);
      }
    }
    tab.look(DESK, HEIGHT, false);
  }

  private static void inLook(Tab tab, String name, int width, boolean isDark) {
    tab.look(width, HEIGHT, isDark);
    assertThat(tab.faults()).as(name).isEmpty();
    tab.picture(PICTURES.resolve(name + "-" + width + (isDark ? "-dark" : "-light") + ".png"));
  }
}
