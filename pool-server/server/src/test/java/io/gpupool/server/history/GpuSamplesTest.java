// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class GpuSamplesTest {
  private static final long SECOND = 1000;
  private static final long HOUR = 3600 * SECOND;
  private static final long START = 1_800_000_000_000L;
  private static final LeaseLabel LEASE = SampleTest.lease("L1", "a");

  private final GpuSamples samples = new GpuSamples();
  private long now = START;

  private void pass(long millis) {
    for (long left = millis; left > 0; left -= 10 * SECOND) {
      now += 10 * SECOND;
      samples.add(
          new Sample(
              now, 10 * SECOND, List.of(new LeaseSample(LEASE, 10, 5, 2, 1 << 20, 1 << 21))));
    }
  }

  @Test
  void add_forThreeDays_keepsTheLastHourAndTheLastDay() {
    pass(72 * HOUR);
    List<Sample> hour = samples.in(Window.hour, now);
    assertThat(hour).hasSize(360);
    assertThat(hour.getFirst().atMillis()).isEqualTo(now - HOUR + 10 * SECOND);
    List<Sample> day = samples.in(Window.day, now);
    assertThat(day).hasSize(288);
    assertThat(day.getFirst().atMillis()).isEqualTo(now - 24 * HOUR + 300 * SECOND);
    assertThat(day)
        .allSatisfy(sample -> {
          assertThat(sample.millis()).isEqualTo(300 * SECOND);
          assertThat(sample.portions())
              .containsExactly(new LeaseSample(LEASE, 300, 150, 60, 1 << 20, 1 << 21));
        });
  }

  @Test
  void in_anHourLater_hasNothingOfTheHour() {
    pass(HOUR);
    assertThat(samples.in(Window.hour, now + HOUR)).isEmpty();
    assertThat(samples.in(Window.day, now + HOUR)).hasSize(12);
  }

  @Test
  void add_afterTheClockWasSetBack_forgetsWhatIsYetToCome() {
    pass(HOUR);
    now -= HOUR / 2;
    pass(10 * SECOND);
    assertThat(samples.in(Window.hour, now)).allMatch(sample -> sample.atMillis() <= now);
    assertThat(samples.all().get(Window.hour)).hasSizeLessThan(200);
  }

  @Test
  void restored_whatWasInNoSampleOfTheDay_isInOneNow() {
    pass(HOUR + 60 * SECOND);
    GpuSamples restored = restored(samples);
    Sample last = restored.in(Window.day, now).getLast();
    assertThat(last.millis()).isEqualTo(60 * SECOND);
    assertThat(last.portions().getFirst().usedNanos()).isEqualTo(30);
    assertThat(restored.in(Window.hour, now)).isEqualTo(samples.in(Window.hour, now));
  }

  @Test
  void restored_againAndAgain_keepsNoMoreThanThereIsRoomFor() {
    GpuSamples restored = new GpuSamples();
    for (int i = 0; i < 2000; i++) {
      now += SECOND;
      restored.add(new Sample(now, SECOND, List.of()));
      restored = restored(restored);
    }
    assertThat(restored.all().get(Window.hour)).hasSize(Window.hour.maxSamples());
    assertThat(restored.all().get(Window.day)).hasSize(Window.day.maxSamples());
  }

  private static GpuSamples restored(GpuSamples from) {
    return new GpuSamples(
        Objects.requireNonNull(from.all().get(Window.hour)),
        Objects.requireNonNull(from.all().get(Window.day)));
  }
}
