// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;

/** What holds for every owner in every spelling, and for any text at all. */
class ControlGroupsFuzzTest {
  private static final int ROUNDS = 200;
  private static final List<String> BEFORE =
      List.of("", "", "/docker/" + "ab".repeat(32), "/system.slice/k3s.service", "/..", "/../..");
  private static final List<String> CLASSES = List.of("", "burstable", "besteffort");
  private static final List<String> RUNTIMES = List.of("cri-containerd", "crio", "docker");
  private static final String PIECES = "/:-_. \n0afpod\\@\u00e9kubes";

  @RepeatedTest(10)
  void owner_anySpellingWithAnythingWithin_isTheOneWritten(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    for (int round = 0; round < ROUNDS; round++) {
      Owner.InPod owner = owner(random);
      String text = spelling(owner, random) + within(random);
      assertThat(ControlGroups.owner("0::" + text)).as(text).isEqualTo(owner);
    }
  }

  @RepeatedTest(10)
  void owner_underAUsersGroups_isNobodysWhateverFollows(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    for (int round = 0; round < ROUNDS; round++) {
      String text =
          "/user.slice/user-1000.slice/user@1000.service"
              + spelling(owner(random), random)
              + within(random);
      assertThat(ControlGroups.owner("0::" + text))
          .as(text)
          .isEqualTo(new Owner.Unknown("it is in no pod"));
    }
  }

  @RepeatedTest(10)
  void owner_damagedText_neverIsAnotherPodsAndNeverThrows(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    for (int round = 0; round < ROUNDS; round++) {
      Owner.InPod owner = owner(random);
      StringBuilder text = new StringBuilder("3:cpu:" + spelling(owner, random) + "\n");
      // Nothing that is a digit of an id is put in: such would be another one's id, rightly so.
      for (int damage = random.nextInt(4); damage >= 0; damage--) {
        int at = random.nextInt(text.length());
        if (random.nextBoolean()) {
          text.deleteCharAt(at);
        } else {
          text.insert(at, "/:-_. \n@\u00e9\\".charAt(random.nextInt(10)));
        }
      }
      switch (ControlGroups.owner(text.toString())) {
        case Owner.InPod found -> assertThat(found).as(text.toString()).isEqualTo(owner);
        case Owner.Unknown unknown -> assertThat(unknown.reason()).isNotBlank();
      }
    }
  }

  @RepeatedTest(10)
  void owner_anyText_hasAReasonAndDoesNotThrow(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    for (int round = 0; round < ROUNDS; round++) {
      String text = noise(random, 200);
      assertThat(ControlGroups.owner(text)).as(text).isInstanceOf(Owner.Unknown.class);
    }
  }

  private static Owner.InPod owner(Random random) {
    String uid = new UUID(random.nextLong(), random.nextLong()).toString();
    StringBuilder id = new StringBuilder();
    for (int words = 0; words < 4; words++) {
      id.append(String.format("%016x", random.nextLong()));
    }
    return new Owner.InPod(new PodUid(uid), new ContainerId(id.toString()));
  }

  private static String spelling(Owner.InPod owner, Random random) {
    String quality = pick(CLASSES, random);
    String runtime = pick(RUNTIMES, random);
    String pod = owner.pod().text();
    String container = owner.container().text();
    String slice = "kubepods" + (quality.isEmpty() ? "" : "-" + quality);
    String podSlice = slice + "-pod" + pod.replace('-', '_') + ".slice";
    return pick(BEFORE, random)
        + switch (random.nextInt(4)) {
          case 0 ->
              "/kubepods"
                  + (quality.isEmpty() ? "" : "/" + quality)
                  + "/pod"
                  + pod
                  + "/"
                  + container;
          case 1 ->
              "/kubepods.slice"
                  + (quality.isEmpty() ? "" : "/" + slice + ".slice")
                  + "/"
                  + podSlice
                  + "/"
                  + runtime
                  + "-"
                  + container
                  + ".scope";
          case 2 -> "/" + podSlice + ":" + runtime + ":" + container;
          default -> "/kubepods/pod" + pod + "/" + runtime + "-" + container;
        };
  }

  /** Groups that a container might make within its own, to be taken for another. */
  private static String within(Random random) {
    return switch (random.nextInt(4)) {
      case 0 -> "";
      case 1 -> spelling(owner(random), random).replaceFirst("^(/\\.\\.)*", "");
      case 2 -> "/" + noise(random, 30).replace("\n", "");
      default -> " (deleted)";
    };
  }

  private static String noise(Random random, int longest) {
    StringBuilder text = new StringBuilder();
    for (int left = random.nextInt(longest); left > 0; left--) {
      text.append(PIECES.charAt(random.nextInt(PIECES.length())));
    }
    return text.toString();
  }

  private static <T> T pick(List<T> all, Random random) {
    return all.get(random.nextInt(all.size()));
  }
}
