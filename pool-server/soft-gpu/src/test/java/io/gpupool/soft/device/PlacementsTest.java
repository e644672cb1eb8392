// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The numbers that devices choose, and choose again. */
final class PlacementsTest {
  private final Placements placements = new Placements();

  @Test
  void numbers_ofTheThreadThatBegan_areNotedAlone() throws InterruptedException {
    placements.note(1);
    placements.begin();
    placements.note(2);
    Thread other = Thread.ofPlatform().start(() -> placements.note(3));
    other.join();
    for (long number = 4; number < 10; number++) {
      placements.note(number);
    }
    assertThat(placements.end()).containsExactly(2, 4, 5, 6, 7, 8, 9);
    placements.note(10);
    placements.begin();
    assertThat(placements.end()).isEmpty();
  }

  @Test
  void numbers_thatArePlanned_areUsedInTheirOrderByThatThread() throws InterruptedException {
    placements.plan(new long[] {7, 8});
    assertThat(placements.next()).hasValue(7);
    Thread other = Thread.ofPlatform().start(() -> assertThat(placements.next()).isEmpty());
    other.join();
    assertThat(placements.isUsedUp()).isFalse();
    assertThat(placements.next()).hasValue(8);
    assertThat(placements.next()).isEmpty();
    assertThat(placements.isUsedUp()).isTrue();
  }

  @Test
  void make_numberIsPlanned_usesItAndElseOneThatIsChosen() {
    List<Long> madeAt = new ArrayList<>();
    placements.plan(new long[] {7});
    assertThat(placements.make(madeAt::add, () -> 9)).isEqualTo(7);
    assertThat(placements.make(madeAt::add, () -> 9)).isEqualTo(9);
    assertThat(madeAt).containsExactly(7L);
    assertThat(placements.end()).containsExactly(7, 9);
  }

  @Test
  void make_fails_notesNothing() {
    placements.begin();
    assertThatThrownBy(() ->
            placements.make(
                at -> {},
                () -> {
                  throw new IllegalStateException("full");
                }))
        .hasMessage("full");
    assertThat(placements.end()).isEmpty();
  }

  @Test
  void numbers_afterASessionWasMadeAgain_areNotNoted() {
    placements.setRestoring(true);
    placements.plan(new long[] {7});
    placements.setRestoring(false);
    placements.note(8);
    assertThat(placements.next()).isEmpty();
    assertThat(placements.end()).isEmpty();
  }
}
