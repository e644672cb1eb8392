// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.state.v1.GpuHistoryRecord;
import io.gpupool.control.state.v1.HistoryRecord;
import io.gpupool.control.state.v1.PortionRecord;
import io.gpupool.control.state.v1.SampleRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HistoryFileTest {
  private static final long NOW = 1_800_000_000_000L;

  @TempDir private Path folder;

  /** As much as a GPU can have: all samples, and in each as many leases as are named. */
  private static Map<Window, List<Sample>> full() {
    List<Sample> hour = new ArrayList<>();
    for (int i = 360; i > 0; i--) {
      List<LeaseSample> portions = new ArrayList<>();
      for (int lease = 0; lease < 100; lease++) {
        LeaseLabel name = SampleTest.lease("L" + (i / 50 * 100 + lease), "tenant");
        portions.add(
            new LeaseSample(
                name, 9_999_999_999L, 5_555_555_555L, 8_888_888_888L, 1L << 36, (1L << 36) + 1));
      }
      hour.add(Sample.of(NOW - i * 10_000L, 10_000, portions));
    }
    List<Sample> day = new ArrayList<>();
    for (int i = 288; i > 0; i--) {
      day.add(new Sample(NOW - i * 300_000L, 300_000, hour.get(i).portions()));
    }
    return Map.of(Window.hour, hour, Window.day, day);
  }

  @Test
  void write_allThatAGpuCanHave_isReadAgainAndSmall() throws IOException {
    Map<Window, List<Sample>> full = full();
    new HistoryFile(folder.resolve("new")).write(HistoryCodec.record(Map.of("GPU-1", full)));
    Path file = folder.resolve("new").resolve(HistoryFile.NAME);
    assertThat(Files.size(file)).isLessThan(512 << 10);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    Map<String, GpuSamples> read = new HistoryFile(folder.resolve("new")).read();
    assertThat(read).containsOnlyKeys("GPU-1");
    assertThat(Objects.requireNonNull(read.get("GPU-1")).in(Window.hour, NOW - 10_000))
        .isEqualTo(full.get(Window.hour));
    assertThat(Objects.requireNonNull(read.get("GPU-1")).in(Window.day, NOW - 10_000))
        .containsAll(full.get(Window.day));
  }

  @Test
  void read_aFileCutAnywhere_isDropped() throws IOException {
    HistoryFile file = new HistoryFile(folder);
    file.write(HistoryCodec.record(Map.of("GPU-1", full())));
    byte[] whole = Files.readAllBytes(folder.resolve(HistoryFile.NAME));
    for (int length : new int[] {0, 3, 4, 15, 16, 17, whole.length / 2, whole.length - 1}) {
      Files.write(folder.resolve(HistoryFile.NAME), Arrays.copyOf(whole, length));
      assertThat(file.read()).as("%d bytes", length).isEmpty();
    }
    Files.write(folder.resolve(HistoryFile.NAME), whole);
    assertThat(file.read()).isNotEmpty();
  }

  @Test
  void read_aFileWithAnyByteChanged_isDropped() throws IOException {
    HistoryFile file = new HistoryFile(folder);
    SampleRecord sample = SampleRecord.newBuilder().setAtMillis(NOW).setMillis(10).build();
    file.write(
        HistoryRecord.newBuilder()
            .addGpus(GpuHistoryRecord.newBuilder().setUuid("GPU-1").addHour(sample))
            .build());
    byte[] whole = Files.readAllBytes(folder.resolve(HistoryFile.NAME));
    for (int i = 0; i < whole.length; i++) {
      byte[] changed = whole.clone();
      changed[i] ^= 0x40;
      Files.write(folder.resolve(HistoryFile.NAME), changed);
      assertThat(file.read()).as("byte %d", i).isEmpty();
    }
  }

  @Test
  void read_aSampleOfALeaseWithoutAName_isDropped() {
    HistoryFile file = new HistoryFile(folder);
    SampleRecord sample =
        SampleRecord.newBuilder()
            .setAtMillis(NOW)
            .addPortions(PortionRecord.newBuilder().setLease(3))
            .build();
    file.write(
        HistoryRecord.newBuilder()
            .addGpus(GpuHistoryRecord.newBuilder().setUuid("GPU-1").addHour(sample))
            .build());
    assertThat(file.read()).isEmpty();
  }

  @Test
  void write_whereNothingCanBeWritten_goesOn() throws IOException {
    Files.createDirectories(folder.resolve(HistoryFile.NAME).resolve("in the way"));
    HistoryFile file = new HistoryFile(folder);
    file.write(HistoryRecord.getDefaultInstance());
    assertThat(file.read()).isEmpty();
  }
}
