// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.rejection;

import io.gpupool.server.rejection.RejectionReason.GpuPart;
import io.gpupool.server.rejection.RejectionReason.LeaseShare;
import io.gpupool.server.rejection.RejectionReason.PartitionShare;

/** The messages of rejection reasons. */
final class RejectionMessages {
  private RejectionMessages() {}

  static io.gpupool.control.v1.RejectionReason of(RejectionReason reason) {
    io.gpupool.control.v1.RejectionReason.Builder message =
        io.gpupool.control.v1.RejectionReason.newBuilder();
    switch (reason) {
      case RejectionReason.InvalidField(String field, String value, String allowed) ->
          message.getInvalidFieldBuilder().setField(field).setValue(value).setAllowed(allowed);
      case RejectionReason.NoCapacity full -> noCapacity(full, message);
      case RejectionReason.ServersDraining(GpuPart example) ->
          message.getServersDrainingBuilder().setExample(part(example));
      case RejectionReason.KeptForEarlier(String request) ->
          message.getKeptForEarlierBuilder().setRequest(request);
      case RejectionReason.OverQuota over -> overQuota(over, message);
      case RejectionReason.PriorityTooHigh(String tenant, int most) ->
          message.getPriorityTooHighBuilder().setTenant(tenant).setMaxPriority(most);
      case RejectionReason.QueueFull full -> queueFull(full, message);
      case RejectionReason.ServerStopping stopping -> message.getServerStoppingBuilder();
      case RejectionReason.Cancelled(String by, String comment) ->
          message.getCancelledBuilder().setBy(by).setComment(comment);
      case RejectionReason.TokenRevoked revoked -> message.getTokenRevokedBuilder();
      case RejectionReason.NotRecorded(String problem) ->
          message.getNotRecordedBuilder().setProblem(problem);
      case RejectionReason.NotScheduledYet early -> message.getNotScheduledYetBuilder();
      case RejectionReason.GangIncomplete(String gang, int size, int members) ->
          message.getGangIncompleteBuilder().setGang(gang).setSize(size).setMembers(members);
      case RejectionReason.GangNoCapacity(String gang, int leases, int fitting) ->
          message.getGangNoCapacityBuilder().setGang(gang).setLeases(leases).setFitting(fitting);
      case RejectionReason.EmptyPool empty -> message.getEmptyPoolBuilder();
      case RejectionReason.NoMatch none ->
          message
              .getNoMatchBuilder()
              .addAllSelectors(none.selectors())
              .setExample(part(none.example()));
      case RejectionReason.NoPartition(String partition) ->
          message.getNoPartitionBuilder().setPartition(partition);
      case RejectionReason.ReservedForOthers reserved -> message.getReservedForOthersBuilder();
      case RejectionReason.SlicesOnly slices -> message.getSlicesOnlyBuilder();
      case RejectionReason.TooLarge(GpuPart largest, boolean outside) ->
          message.getTooLargeBuilder().setLargest(part(largest)).setOutsidePartitions(outside);
      case RejectionReason.TooFewGpus(int gpus, int servers, boolean oneServer) ->
          message.getTooFewGpusBuilder().setGpus(gpus).setServers(servers).setOneServer(oneServer);
    }
    return message.build();
  }

  private static void noCapacity(
      RejectionReason.NoCapacity full, io.gpupool.control.v1.RejectionReason.Builder message) {
    var builder =
        message
            .getNoCapacityBuilder()
            .setLargestFree(part(full.largestFree()))
            .setGpus(full.gpus())
            .setFreeGpus(full.freeGpus());
    full.holders().forEach(lease -> builder.addHolders(share(lease)));
    full.partitions().forEach(partition -> builder.addPartitions(share(partition)));
    full.moves()
        .forEach(move ->
            builder
                .addMovesBuilder()
                .setLeaseId(move.lease())
                .setServer(move.server())
                .setGpu(move.ordinal()));
  }

  private static void overQuota(
      RejectionReason.OverQuota over, io.gpupool.control.v1.RejectionReason.Builder message) {
    var builder = message.getOverQuotaBuilder().setTenant(over.tenant());
    switch (over.limit()) {
      case QuotaLimit.Leases(int most) -> builder.setLeases(most);
      case QuotaLimit.Memory(long mostBytes) -> builder.setMemoryBytes(mostBytes);
      case QuotaLimit.Gpus(double most) -> builder.setGpus(most);
    }
  }

  private static void queueFull(
      RejectionReason.QueueFull full, io.gpupool.control.v1.RejectionReason.Builder message) {
    message
        .getQueueFullBuilder()
        .setScope(
            switch (full.scope()) {
              case TENANT -> io.gpupool.control.v1.RejectionReason.QueueFull.Scope.SCOPE_TENANT;
              case CALLER -> io.gpupool.control.v1.RejectionReason.QueueFull.Scope.SCOPE_CALLER;
              case SERVER -> io.gpupool.control.v1.RejectionReason.QueueFull.Scope.SCOPE_SERVER;
            })
        .setName(full.name())
        .setRequests(full.requests());
  }

  private static io.gpupool.control.v1.RejectionReason.GpuPart part(GpuPart part) {
    return io.gpupool.control.v1.RejectionReason.GpuPart.newBuilder()
        .setServer(part.server())
        .setGpu(part.ordinal())
        .setGpuName(part.gpuName())
        .setComputeCapability(part.computeCapability())
        .setPartition(part.partition())
        .setMemoryBytes(part.memoryBytes())
        .setComputePercent(part.computePercent())
        .build();
  }

  private static io.gpupool.control.v1.RejectionReason.LeaseShare share(LeaseShare lease) {
    return io.gpupool.control.v1.RejectionReason.LeaseShare.newBuilder()
        .setLeaseId(lease.lease())
        .setVisibility(visibility(lease.visibility()))
        .setHolder(lease.holder())
        .setMemoryBytes(lease.memoryBytes())
        .setComputePercent(lease.computePercent())
        .build();
  }

  private static io.gpupool.control.v1.RejectionReason.PartitionShare share(
      PartitionShare partition) {
    return io.gpupool.control.v1.RejectionReason.PartitionShare.newBuilder()
        .setPartition(partition.partition())
        .setMemoryBytes(partition.memoryBytes())
        .setComputePercent(partition.computePercent())
        .build();
  }

  private static io.gpupool.control.v1.RejectionReason.LeaseShare.Visibility visibility(
      LeaseShare.Visibility visibility) {
    return switch (visibility) {
      case FULL -> io.gpupool.control.v1.RejectionReason.LeaseShare.Visibility.VISIBILITY_FULL;
      case OTHER_TENANT ->
          io.gpupool.control.v1.RejectionReason.LeaseShare.Visibility.VISIBILITY_OTHER_TENANT;
      case OTHER_NAMESPACE ->
          io.gpupool.control.v1.RejectionReason.LeaseShare.Visibility.VISIBILITY_OTHER_NAMESPACE;
    };
  }
}
