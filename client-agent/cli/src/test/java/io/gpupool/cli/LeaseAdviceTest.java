// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.control.v1.RejectionReason.KindCase;
import io.gpupool.rejection.RejectionSamples;
import io.gpupool.rejection.RejectionText;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import picocli.CommandLine.Option;

class LeaseAdviceTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "NO_CAPACITY         | ; -m or -p asks for less, --wait waits for room",
        "SERVERS_DRAINING    | ; wait for others, or have an admin put it back with 'gpupool server"
            + " uncordon gpu-1'",
        "KEPT_FOR_EARLIER    | ; 'gpupool lease queue' shows the requests that wait",
        "OVER_QUOTA          | ; 'gpupool lease list' shows the leases, 'gpupool lease release' ends"
            + " one",
        "PRIORITY_TOO_HIGH   | ; lower --priority",
        "EMPTY_POOL          | ; 'gpupool list' shows the GPUs that there are",
        "NO_MATCH            | ; 'gpupool list' shows the GPUs that there are",
        "NO_PARTITION        | ; 'gpupool partition list' shows the partitions that there are",
        "RESERVED_FOR_OTHERS | ; 'gpupool list' shows the GPUs that there are",
        "SLICES_ONLY         | ; -n 1 asks for one",
        "TOO_LARGE           | ; -m or -p asks for less",
        "TOO_FEW_GPUS        | ; without --one-server it may have GPUs of several",
        "QUEUE_FULL          | ; 'gpupool lease queue' shows the requests that wait",
        "SERVER_STOPPING     | \"\"",
        "CANCELLED           | \"\"",
        "TOKEN_REVOKED       | \"\"",
        "NOT_RECORDED        | \"\"",
        "NOT_SCHEDULED_YET   | \"\"",
        "GANG_INCOMPLETE     | \"\"",
        "GANG_NO_CAPACITY    | \"\"",
        "KIND_NOT_SET        | \"\"",
      })
  void refusal_ofEachKind_namesTheOptions(KindCase kind, String advice) {
    assertThat(text(RejectionSamples.of(kind)))
        .isEqualTo(
            "asked for 1 GPU at 0.5; " + RejectionText.of(RejectionSamples.of(kind)) + advice);
  }

  @Test
  void refusal_afterAWait_saysToWaitLonger() {
    Refused refusal =
        Refused.newBuilder()
            .setWaitedMillis(5000)
            .setReason(RejectionSamples.of(KindCase.NO_CAPACITY))
            .build();
    assertThat(LeaseAdvice.text(refusal))
        .startsWith("waited 5s; ")
        .endsWith("; -m or -p asks for less, a larger --wait waits longer");
  }

  @Test
  void refusal_ofAField_namesItsOption() {
    assertThat(text(RejectionSamples.of(KindCase.INVALID_FIELD)))
        .endsWith("; --compute is 0.5; give 1 to 100");
  }

  @ParameterizedTest
  @EnumSource(KindCase.class)
  void queued_ofEachKind_saysThePlaceAndTheReason(KindCase kind) {
    RejectionReason reason = RejectionSamples.of(kind);
    assertThat(LeaseAdvice.text(Queued.newBuilder().setPosition(3).setReason(reason).build()))
        .startsWith("place 3: ");
  }

  @Test
  void advice_namesOptionsThatThereAre() {
    List<String> options =
        Arrays.stream(LeasePartOptions.class.getDeclaredFields())
            .filter(field -> field.isAnnotationPresent(Option.class))
            .flatMap(field -> Arrays.stream(field.getAnnotation(Option.class).names()))
            .toList();
    assertThat(options)
        .contains(
            "-m", "-p", "-n", "--compute", "--idle-timeout", "--time-limit", "--resume-window");
  }

  @Test
  void failure_thatIsNoRefusal_isToldAsItIs() {
    assertThat(
            LeaseAdvice.text(
                new PoolRequestException(PoolRequestException.Cause.UNREACHABLE, "no pool")))
        .isEqualTo("no pool");
  }

  private static String text(RejectionReason reason) {
    return LeaseAdvice.text(
        PoolRequestException.of(
            Refused.newBuilder().setWanted("1 GPU at 0.5").setReason(reason).build()));
  }
}
