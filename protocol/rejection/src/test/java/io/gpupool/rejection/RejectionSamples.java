// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rejection;

import io.gpupool.control.v1.RejectionReason;
import io.gpupool.control.v1.RejectionReason.Cancelled;
import io.gpupool.control.v1.RejectionReason.EmptyPool;
import io.gpupool.control.v1.RejectionReason.GangIncomplete;
import io.gpupool.control.v1.RejectionReason.GangNoCapacity;
import io.gpupool.control.v1.RejectionReason.GpuPart;
import io.gpupool.control.v1.RejectionReason.InvalidField;
import io.gpupool.control.v1.RejectionReason.KeptForEarlier;
import io.gpupool.control.v1.RejectionReason.KindCase;
import io.gpupool.control.v1.RejectionReason.LeaseShare;
import io.gpupool.control.v1.RejectionReason.NoCapacity;
import io.gpupool.control.v1.RejectionReason.NoMatch;
import io.gpupool.control.v1.RejectionReason.NoPartition;
import io.gpupool.control.v1.RejectionReason.NotRecorded;
import io.gpupool.control.v1.RejectionReason.NotScheduledYet;
import io.gpupool.control.v1.RejectionReason.OverQuota;
import io.gpupool.control.v1.RejectionReason.PriorityTooHigh;
import io.gpupool.control.v1.RejectionReason.QueueFull;
import io.gpupool.control.v1.RejectionReason.ReservedForOthers;
import io.gpupool.control.v1.RejectionReason.ServerStopping;
import io.gpupool.control.v1.RejectionReason.ServersDraining;
import io.gpupool.control.v1.RejectionReason.SlicesOnly;
import io.gpupool.control.v1.RejectionReason.TokenRevoked;
import io.gpupool.control.v1.RejectionReason.TooFewGpus;
import io.gpupool.control.v1.RejectionReason.TooLarge;
import java.util.regex.Pattern;

/** A sample of each rejection reason, for the tests of everything that puts one into words. */
public final class RejectionSamples {
  /** The words of the command line, which no other interface may use. */
  public static final Pattern COMMAND_LINE =
      Pattern.compile("(^|[\\s('])-[a-z]\\b|--[a-z]|gpupool (\\w)");

  private static final GpuPart GPU =
      GpuPart.newBuilder()
          .setServer("gpu-1")
          .setGpu(0)
          .setGpuName("NVIDIA H100")
          .setComputeCapability("9.0")
          .setMemoryBytes(8L << 30)
          .setComputePercent(100)
          .build();
  private static final GpuPart FREE =
      GPU.toBuilder().setMemoryBytes(2L << 30).setComputePercent(25).build();
  private static final LeaseShare HOLDER =
      LeaseShare.newBuilder()
          .setLeaseId("L1")
          .setVisibility(LeaseShare.Visibility.VISIBILITY_FULL)
          .setHolder("pid 123 python on box")
          .setMemoryBytes(6L << 30)
          .setComputePercent(75)
          .build();

  private RejectionSamples() {}

  /** Returns the sample of a kind. */
  public static RejectionReason of(KindCase kind) {
    RejectionReason.Builder reason = RejectionReason.newBuilder();
    return switch (kind) {
      case INVALID_FIELD ->
          reason
              .setInvalidField(
                  InvalidField.newBuilder()
                      .setField("compute_percent")
                      .setValue("0.5")
                      .setAllowed("1 to 100"))
              .build();
      case NO_CAPACITY ->
          reason
              .setNoCapacity(
                  NoCapacity.newBuilder().setLargestFree(FREE).setGpus(1).addHolders(HOLDER))
              .build();
      case SERVERS_DRAINING ->
          reason.setServersDraining(ServersDraining.newBuilder().setExample(GPU)).build();
      case GANG_INCOMPLETE ->
          reason
              .setGangIncomplete(
                  GangIncomplete.newBuilder().setGang("train").setSize(2).setMembers(1))
              .build();
      case GANG_NO_CAPACITY ->
          reason
              .setGangNoCapacity(
                  GangNoCapacity.newBuilder().setGang("train").setLeases(4).setFitting(3))
              .build();
      case KEPT_FOR_EARLIER ->
          reason.setKeptForEarlier(KeptForEarlier.newBuilder().setRequest("Q2")).build();
      case OVER_QUOTA ->
          reason.setOverQuota(OverQuota.newBuilder().setTenant("blue").setGpus(0.5)).build();
      case PRIORITY_TOO_HIGH ->
          reason
              .setPriorityTooHigh(PriorityTooHigh.newBuilder().setTenant("blue").setMaxPriority(5))
              .build();
      case QUEUE_FULL ->
          reason
              .setQueueFull(
                  QueueFull.newBuilder()
                      .setScope(QueueFull.Scope.SCOPE_TENANT)
                      .setName("blue")
                      .setRequests(64))
              .build();
      case SERVER_STOPPING -> reason.setServerStopping(ServerStopping.newBuilder()).build();
      case CANCELLED ->
          reason.setCancelled(Cancelled.newBuilder().setBy("ann").setComment("too long")).build();
      case TOKEN_REVOKED -> reason.setTokenRevoked(TokenRevoked.newBuilder()).build();
      case NOT_RECORDED ->
          reason.setNotRecorded(NotRecorded.newBuilder().setProblem("the disk is full")).build();
      case NOT_SCHEDULED_YET -> reason.setNotScheduledYet(NotScheduledYet.newBuilder()).build();
      case KIND_NOT_SET -> reason.build();
      default -> noGpu(kind, reason);
    };
  }

  private static RejectionReason noGpu(KindCase kind, RejectionReason.Builder reason) {
    return switch (kind) {
      case EMPTY_POOL -> reason.setEmptyPool(EmptyPool.newBuilder()).build();
      case NO_MATCH ->
          reason
              .setNoMatch(NoMatch.newBuilder().addSelectors("model=*A100*").setExample(GPU))
              .build();
      case NO_PARTITION ->
          reason.setNoPartition(NoPartition.newBuilder().setPartition("ours")).build();
      case RESERVED_FOR_OTHERS ->
          reason.setReservedForOthers(ReservedForOthers.newBuilder()).build();
      case SLICES_ONLY -> reason.setSlicesOnly(SlicesOnly.newBuilder()).build();
      case TOO_LARGE -> reason.setTooLarge(TooLarge.newBuilder().setLargest(GPU)).build();
      case TOO_FEW_GPUS ->
          reason
              .setTooFewGpus(TooFewGpus.newBuilder().setGpus(2).setServers(1).setOneServer(true))
              .build();
      default -> throw new IllegalArgumentException("no sample of " + kind);
    };
  }
}
