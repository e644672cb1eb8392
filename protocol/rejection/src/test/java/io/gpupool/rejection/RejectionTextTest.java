// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rejection;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.control.v1.RejectionReason.KindCase;
import io.gpupool.control.v1.RejectionReason.LeaseShare;
import io.gpupool.control.v1.RejectionReason.NoCapacity;
import io.gpupool.control.v1.RejectionReason.PartitionShare;
import io.grpc.Status;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RejectionTextTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "INVALID_FIELD       | compute_percent is 0.5; give 1 to 100",
        "NO_CAPACITY         | largest free fraction is 2.0 GiB and 25 % compute on GPU 0 of gpu-1,"
            + " in use by lease L1 (pid 123 python on box, 6.0 GiB and 75 % compute)",
        "SERVERS_DRAINING    | the servers whose GPUs could serve it drain, such as that of GPU 0"
            + " of gpu-1",
        "KEPT_FOR_EARLIER    | the free room is kept for a request that has waited longer (Q2)",
        "OVER_QUOTA          | tenant 'blue' may hold at most 0.5 GPUs, with what it holds already",
        "PRIORITY_TOO_HIGH   | tenant 'blue' may ask with a priority of at most 5",
        "EMPTY_POOL          | the pool has no GPUs",
        "NO_MATCH            | no GPU matches; the pool has for example GPU 0 of gpu-1: NVIDIA H100,"
            + " 8.0 GiB, cc 9.0",
        "NO_PARTITION        | no GPU that matches has a partition 'ours' that this tenant may use",
        "RESERVED_FOR_OTHERS | all GPUs that match are reserved for other tenants",
        "SLICES_ONLY         | the GPUs that match are slices of cards (MIG), of which a program can"
            + " use one; ask for one",
        "TOO_LARGE           | the largest GPU that matches is GPU 0 of gpu-1: NVIDIA H100, 8.0 GiB,"
            + " cc 9.0",
        "TOO_FEW_GPUS        | no server has more than 2 GPUs that can serve it, and it asks for one"
            + " server",
        "QUEUE_FULL          | tenant 'blue' has 64 requests in the queue already; withdraw some",
        "SERVER_STOPPING     | this server is stopping and grants nothing more",
        "CANCELLED           | cancelled by ann: too long",
        "TOKEN_REVOKED       | the token was revoked while the request waited",
        "NOT_RECORDED        | the server cannot grant it: the disk is full",
        "NOT_SCHEDULED_YET   | it has not been scheduled yet",
        "GANG_INCOMPLETE     | gang 'train' gets its 2 leases together, and 1 of them has been asked"
            + " for",
        "GANG_NO_CAPACITY    | gang 'train' gets 4 leases together, and there is room for 3 of them",
        "KIND_NOT_SET        | the pool gives a reason that this version does not know",
      })
  void of_eachKind_isASentence(KindCase kind, String sentence) {
    assertThat(RejectionText.of(RejectionSamples.of(kind))).isEqualTo(sentence);
  }

  @ParameterizedTest
  @EnumSource(KindCase.class)
  void of_eachKind_hasNoWordsOfTheCommandLine(KindCase kind) {
    assertThat(RejectionText.of(RejectionSamples.of(kind)))
        .doesNotContainPattern(RejectionSamples.COMMAND_LINE)
        .doesNotContain("\n");
  }

  @Test
  void of_refusal_saysWhatWasAskedForAndHowLongItWaited() {
    Refused refused =
        Refused.newBuilder()
            .setWanted("1 GPU at 0.5")
            .setWaitedMillis(90_000)
            .setReason(RejectionSamples.of(KindCase.EMPTY_POOL))
            .build();
    assertThat(RejectionText.of(refused, UnaryOperator.identity()))
        .isEqualTo("asked for 1 GPU at 0.5; waited 1m30s; the pool has no GPUs");
  }

  @Test
  void of_queueFullOfRequestsWithoutATenant_namesTheirCallers() {
    RejectionReason.Builder reason = RejectionSamples.of(KindCase.QUEUE_FULL).toBuilder();
    reason.getQueueFullBuilder().clearName();
    assertThat(RejectionText.of(reason.build()))
        .isEqualTo("callers without a tenant have 64 requests in the queue already; withdraw some");
  }

  @Test
  void of_holderWhomTheCallerMayNotSee_isNotNamed() {
    RejectionReason sample = RejectionSamples.of(KindCase.NO_CAPACITY);
    NoCapacity.Builder full = sample.getNoCapacity().toBuilder();
    full.getHoldersBuilder(0)
        .setVisibility(LeaseShare.Visibility.VISIBILITY_OTHER_TENANT)
        .setHolder("spy");
    assertThat(RejectionText.of(sample.toBuilder().setNoCapacity(full).build()))
        .contains("lease L1 (another tenant's, 6.0 GiB")
        .doesNotContain("spy");
    full.getHoldersBuilder(0).setVisibility(LeaseShare.Visibility.VISIBILITY_OTHER_NAMESPACE);
    assertThat(RejectionText.of(sample.toBuilder().setNoCapacity(full).build()))
        .contains("lease L1 (not of this namespace, 6.0 GiB")
        .doesNotContain("spy");
  }

  @Test
  void of_gpuWithPartitions_saysWhatTheyReserve() {
    RejectionReason.Builder reason = RejectionSamples.of(KindCase.NO_CAPACITY).toBuilder();
    reason
        .getNoCapacityBuilder()
        .addPartitions(partition("training", 4))
        .addPartitions(partition("", 1));
    assertThat(RejectionText.of(reason.build()))
        .endsWith(
            ", in use by lease L1 (pid 123 python on box, 6.0 GiB and 75 % compute), 4.0 GiB and"
                + " 40 % compute reserved for partition 'training' and 1.0 GiB and 10 % compute"
                + " reserved for a partition of another tenant");
  }

  @Test
  void of_requestForWhichLeasesCanMove_saysWhichAndWhere() {
    RejectionReason.Builder reason = RejectionSamples.of(KindCase.NO_CAPACITY).toBuilder();
    reason.getNoCapacityBuilder().addMovesBuilder().setLeaseId("L3").setServer("gpu-2").setGpu(1);
    assertThat(RejectionText.of(reason.build()))
        .endsWith("75 % compute); it fits once L3 has moved to gpu-2/1");
    reason.getNoCapacityBuilder().addMovesBuilder().setLeaseId("L4").setServer("gpu-3").setGpu(0);
    assertThat(RejectionText.of(reason.build()))
        .endsWith("; it fits once L3 has moved to gpu-2/1, and L4 has moved to gpu-3/0");
  }

  private static PartitionShare partition(String name, int gibibytes) {
    return PartitionShare.newBuilder()
        .setPartition(name)
        .setMemoryBytes((long) gibibytes << 30)
        .setComputePercent(10 * gibibytes)
        .build();
  }

  @Test
  void of_severalGpus_saysHowManyAreFree() {
    RejectionReason.Builder reason = RejectionSamples.of(KindCase.NO_CAPACITY).toBuilder();
    reason.getNoCapacityBuilder().setGpus(4).setFreeGpus(2).clearHolders();
    assertThat(RejectionText.of(reason.build()))
        .isEqualTo(
            "2 of these are free now, beyond them the largest free fraction is 2.0 GiB and 25 %"
                + " compute on GPU 0 of gpu-1");
  }

  @ParameterizedTest
  @EnumSource(KindCase.class)
  void detail_ofAFailedCall_isReadAgain(KindCase kind) {
    RejectionReason reason = RejectionSamples.of(kind);
    var failure = RejectionDetail.failure(Status.ABORTED, reason);
    assertThat(RejectionDetail.of(failure)).contains(reason);
    assertThat(failure.getStatus().getDescription()).isEqualTo(RejectionText.of(reason));
  }

  @Test
  void detail_ofAnotherFailure_isEmpty() {
    assertThat(RejectionDetail.of(Status.ABORTED.asRuntimeException())).isEmpty();
    assertThat(RejectionDetail.of(new IllegalStateException())).isEmpty();
  }
}
