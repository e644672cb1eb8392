// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rejection;

import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.control.v1.RejectionReason.Cancelled;
import io.gpupool.control.v1.RejectionReason.GangIncomplete;
import io.gpupool.control.v1.RejectionReason.GangNoCapacity;
import io.gpupool.control.v1.RejectionReason.NoCapacity;
import io.gpupool.control.v1.RejectionReason.OverQuota;
import io.gpupool.control.v1.RejectionReason.QueueFull;
import io.gpupool.control.v1.RejectionReason.TooFewGpus;
import io.gpupool.control.v1.RejectionReason.TooLarge;
import io.gpupool.wire.ByteSize;
import io.gpupool.wire.ElapsedTime;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * The sentences of rejection reasons, in words that suit every interface. An interface adds its own
 * advice.
 */
public final class RejectionText {
  private RejectionText() {}

  /** Returns the sentence of a reason, with fields named as in the request's message. */
  public static String of(RejectionReason reason) {
    return of(reason, UnaryOperator.identity());
  }

  /**
   * Returns the sentence of a refusal: what was asked for, how long it waited, and the reason.
   *
   * @param fieldName the interface's name of a field of the request's message
   */
  public static String of(Refused refused, UnaryOperator<String> fieldName) {
    String wanted = refused.getWanted().isEmpty() ? "" : "asked for " + refused.getWanted() + "; ";
    String waited =
        refused.getWaitedMillis() == 0
            ? ""
            : "waited " + new ElapsedTime(refused.getWaitedMillis()) + "; ";
    return wanted + waited + of(refused.getReason(), fieldName);
  }

  /**
   * Returns the sentence of a reason.
   *
   * @param fieldName the interface's name of a field of the request's message
   */
  public static String of(RejectionReason reason, UnaryOperator<String> fieldName) {
    return switch (reason.getKindCase()) {
      case INVALID_FIELD ->
          fieldName.apply(reason.getInvalidField().getField())
              + " is "
              + reason.getInvalidField().getValue()
              + "; give "
              + reason.getInvalidField().getAllowed();
      case NO_CAPACITY -> noCapacity(reason.getNoCapacity());
      case SERVERS_DRAINING ->
          "the servers whose GPUs could serve it drain, such as that of "
              + GpuText.label(reason.getServersDraining().getExample());
      case KEPT_FOR_EARLIER ->
          "the free room is kept for a request that has waited longer ("
              + reason.getKeptForEarlier().getRequest()
              + ")";
      case OVER_QUOTA -> overQuota(reason.getOverQuota());
      case PRIORITY_TOO_HIGH ->
          "tenant '"
              + reason.getPriorityTooHigh().getTenant()
              + "' may ask with a priority of at most "
              + reason.getPriorityTooHigh().getMaxPriority();
      case QUEUE_FULL -> queueFull(reason.getQueueFull());
      case SERVER_STOPPING -> "this server is stopping and grants nothing more";
      case CANCELLED -> cancelled(reason.getCancelled());
      case TOKEN_REVOKED -> "the token was revoked while the request waited";
      case NOT_RECORDED -> "the server cannot grant it: " + reason.getNotRecorded().getProblem();
      case NOT_SCHEDULED_YET -> "it has not been scheduled yet";
      case GANG_INCOMPLETE -> gang(reason.getGangIncomplete());
      case GANG_NO_CAPACITY -> gang(reason.getGangNoCapacity());
      case EMPTY_POOL -> "the pool has no GPUs";
      case NO_MATCH ->
          "no GPU matches; the pool has for example "
              + GpuText.description(reason.getNoMatch().getExample());
      case NO_PARTITION ->
          "no GPU that matches has a partition '"
              + reason.getNoPartition().getPartition()
              + "' that this tenant may use";
      case RESERVED_FOR_OTHERS -> "all GPUs that match are reserved for other tenants";
      case SLICES_ONLY ->
          "the GPUs that match are slices of cards (MIG), of which a program can use one; ask for"
              + " one";
      case TOO_LARGE -> tooLarge(reason.getTooLarge());
      case TOO_FEW_GPUS -> tooFew(reason.getTooFewGpus());
      case KIND_NOT_SET -> "the pool gives a reason that this version does not know";
    };
  }

  private static String gang(GangIncomplete gang) {
    return "gang '"
        + gang.getGang()
        + "' gets its "
        + gang.getSize()
        + " leases together, and "
        + gang.getMembers()
        + (gang.getMembers() == 1 ? " of them has" : " of them have")
        + " been asked for";
  }

  private static String gang(GangNoCapacity gang) {
    return "gang '"
        + gang.getGang()
        + "' gets "
        + gang.getLeases()
        + " leases together, and there is room for "
        + gang.getFitting()
        + " of them";
  }

  private static String noCapacity(NoCapacity reason) {
    String largest =
        "largest free fraction is "
            + GpuText.share(reason.getLargestFree())
            + " on "
            + GpuText.label(reason.getLargestFree());
    if (reason.getGpus() > 1) {
      largest = reason.getFreeGpus() + " of these are free now, beyond them the " + largest;
    }
    String holders =
        reason.getHoldersList().stream().map(GpuText::holder).collect(Collectors.joining(" and "));
    String partitions =
        reason.getPartitionsList().stream()
            .map(GpuText::reservation)
            .collect(Collectors.joining(" and "));
    return largest
        + (holders.isEmpty() ? "" : ", in use by " + holders)
        + (partitions.isEmpty() ? "" : ", " + partitions)
        + moves(reason);
  }

  private static String moves(NoCapacity reason) {
    String to =
        reason.getMovesList().stream()
            .map(move ->
                move.getLeaseId() + " has moved to " + move.getServer() + "/" + move.getGpu())
            .collect(Collectors.joining(", and "));
    return to.isEmpty() ? "" : "; it fits once " + to;
  }

  private static String overQuota(OverQuota reason) {
    String limit =
        switch (reason.getLimitCase()) {
          case LEASES -> reason.getLeases() + " leases";
          case MEMORY_BYTES -> new ByteSize(reason.getMemoryBytes()) + " of GPU memory";
          case GPUS -> reason.getGpus() + " GPUs";
          case LIMIT_NOT_SET -> "its quota";
        };
    return "tenant '"
        + reason.getTenant()
        + "' may hold at most "
        + limit
        + ", with what it holds already";
  }

  private static String tooLarge(TooLarge reason) {
    boolean isWhole =
        reason.getLargest().getPartition().isEmpty() && !reason.getOutsidePartitions();
    return isWhole
        ? "the largest GPU that matches is " + GpuText.description(reason.getLargest())
        : "the largest that matches is "
            + GpuText.share(reason.getLargest())
            + (reason.getOutsidePartitions() ? " outside the partitions of " : " in ")
            + GpuText.label(reason.getLargest());
  }

  private static String tooFew(TooFewGpus reason) {
    String gpus = reason.getGpus() + (reason.getGpus() == 1 ? " GPU" : " GPUs");
    if (reason.getServers() == 0) {
      return "only " + gpus + " can serve it";
    }
    return reason.getOneServer()
        ? "no server has more than " + gpus + " that can serve it, and it asks for one server"
        : "only " + gpus + " of any " + reason.getServers() + " servers can serve it";
  }

  private static String queueFull(QueueFull reason) {
    return switch (reason.getScope()) {
      case SCOPE_CALLER ->
          "'"
              + reason.getName()
              + "' has "
              + reason.getRequests()
              + " requests in the queue already, half of the places of its tenant; withdraw some";
      case SCOPE_SERVER ->
          "all " + reason.getRequests() + " places in this server's queue are taken; ask later";
      case SCOPE_TENANT, SCOPE_UNSPECIFIED, UNRECOGNIZED ->
          (reason.getName().isEmpty()
                  ? "callers without a tenant have "
                  : "tenant '" + reason.getName() + "' has ")
              + reason.getRequests()
              + " requests in the queue already; withdraw some";
    };
  }

  private static String cancelled(Cancelled reason) {
    return reason.getBy().isEmpty()
        ? "it was taken out of the queue"
        : "cancelled by "
            + reason.getBy()
            + (reason.getComment().isEmpty() ? "" : ": " + reason.getComment());
  }
}
