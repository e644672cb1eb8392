// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.rejection;

import io.gpupool.control.v1.Cause;
import io.gpupool.rejection.RejectionText;
import java.util.List;

/**
 * A reason why a lease request is refused or has to wait. It holds facts, without the words of any
 * interface.
 */
public sealed interface RejectionReason {
  /** A field of the request, by its name in the message, has a value that is not allowed. */
  record InvalidField(String field, String value, String allowed) implements RejectionReason {}

  /**
   * GPUs of the pool could serve it, but leases have them.
   *
   * @param largestFree the free part that comes closest
   * @param gpus how many are asked for
   * @param freeGpus how many of them are free
   * @param holders leases on the GPU of the largest free part
   * @param partitions of that GPU, if the largest free part lies outside them
   * @param moves of leases that would make room, as few as there are
   */
  record NoCapacity(
      GpuPart largestFree,
      int gpus,
      int freeGpus,
      List<LeaseShare> holders,
      List<PartitionShare> partitions,
      List<LeaseMove> moves)
      implements RejectionReason {
    public NoCapacity {
      holders = List.copyOf(holders);
      partitions = List.copyOf(partitions);
      moves = List.copyOf(moves);
    }
  }

  /** GPUs of the pool could serve it, but their servers drain. */
  record ServersDraining(GpuPart example) implements RejectionReason {}

  /** The free room is kept for a request that has waited longer. */
  record KeptForEarlier(String request) implements RejectionReason {}

  /** The tenant holds as much as its quota allows. */
  record OverQuota(String tenant, QuotaLimit limit) implements RejectionReason {}

  /** The tenant may not ask with this priority. */
  record PriorityTooHigh(String tenant, int maxPriority) implements RejectionReason {}

  /** The pool has no GPUs. */
  record EmptyPool() implements RejectionReason {}

  /** No GPU matches the selectors. */
  record NoMatch(List<String> selectors, GpuPart example) implements RejectionReason {
    public NoMatch {
      selectors = List.copyOf(selectors);
    }
  }

  /** No GPU that matches has a partition of this name for the tenant. */
  record NoPartition(String partition) implements RejectionReason {}

  /** All that matches is reserved for other tenants. */
  record ReservedForOthers() implements RejectionReason {}

  /** All that matches are slices of cards, of which a program can use one. */
  record SlicesOnly() implements RejectionReason {}

  /**
   * No GPU, or part of one, that matches is as large.
   *
   * @param outsidePartitions whether partitions have the rest of the largest GPU
   */
  record TooLarge(GpuPart largest, boolean outsidePartitions) implements RejectionReason {}

  /**
   * Fewer GPUs can serve it than it asks for.
   *
   * @param servers on how many servers they may be; 0: on all
   * @param oneServer whether it asks for one server
   */
  record TooFewGpus(int gpus, int servers, boolean oneServer) implements RejectionReason {}

  /**
   * The queue takes no more requests.
   *
   * @param name of the tenant or caller; empty: of nobody in particular
   */
  record QueueFull(Scope scope, String name, int requests) implements RejectionReason {
    /** The owner of the places that are taken. */
    public enum Scope {
      TENANT,
      CALLER,
      SERVER
    }
  }

  /** The server that was asked stops. */
  record ServerStopping() implements RejectionReason {}

  /**
   * A person or program has taken it out of the queue.
   *
   * @param by empty: not known
   */
  record Cancelled(String by, String comment) implements RejectionReason {}

  /** The token was revoked while the request waited. */
  record TokenRevoked() implements RejectionReason {}

  /** The server could not commit the grant. */
  record NotRecorded(String problem) implements RejectionReason {}

  /** The request is not scheduled yet, or is about to be granted. */
  record NotScheduledYet() implements RejectionReason {}

  /**
   * Leases of the gang have not been asked for yet.
   *
   * @param members how many of its {@code size} leases were granted or are asked for
   */
  record GangIncomplete(String gang, int size, int members) implements RejectionReason {}

  /**
   * There is no room for all leases of the gang.
   *
   * @param leases how many are to be granted
   * @param fitting how many of them could be granted now
   */
  record GangNoCapacity(String gang, int leases, int fitting) implements RejectionReason {}

  /**
   * A GPU, or a part of one.
   *
   * @param partition of the GPU; empty: none
   */
  record GpuPart(
      String server,
      int ordinal,
      String gpuName,
      String computeCapability,
      String partition,
      long memoryBytes,
      double computePercent) {}

  /**
   * The share of a GPU that a partition reserves.
   *
   * @param partition its name; empty unless the caller may see it
   */
  record PartitionShare(String partition, long memoryBytes, double computePercent) {}

  /** A lease, and a GPU to which it can move. */
  record LeaseMove(String lease, String server, int ordinal) {}

  /**
   * A lease's share of a GPU.
   *
   * @param holder in words; empty unless the caller may see it
   */
  record LeaseShare(
      String lease, Visibility visibility, String holder, long memoryBytes, double computePercent) {
    /** The part of the holder that the caller may see. */
    public enum Visibility {
      FULL,
      OTHER_TENANT,
      OTHER_NAMESPACE
    }
  }

  /** Returns the cause by which clients tell refusals apart. */
  default Cause cause() {
    return switch (this) {
      case InvalidField invalid -> Cause.CAUSE_INVALID;
      case OverQuota over -> Cause.CAUSE_DENIED;
      case PriorityTooHigh high -> Cause.CAUSE_DENIED;
      case TokenRevoked revoked -> Cause.CAUSE_DENIED;
      case ServersDraining draining -> Cause.CAUSE_DRAINING;
      case ServerStopping stopping -> Cause.CAUSE_DRAINING;
      case Cancelled cancelled -> Cause.CAUSE_CANCELLED;
      case EmptyPool empty -> Cause.CAUSE_NO_MATCH;
      case NoMatch none -> Cause.CAUSE_NO_MATCH;
      case NoPartition none -> Cause.CAUSE_NO_MATCH;
      case ReservedForOthers reserved -> Cause.CAUSE_NO_MATCH;
      case SlicesOnly slices -> Cause.CAUSE_NO_MATCH;
      case TooLarge large -> Cause.CAUSE_NO_MATCH;
      case TooFewGpus few -> Cause.CAUSE_NO_MATCH;
      case NoCapacity full -> Cause.CAUSE_NO_CAPACITY;
      case KeptForEarlier kept -> Cause.CAUSE_NO_CAPACITY;
      case QueueFull full -> Cause.CAUSE_NO_CAPACITY;
      case NotRecorded failed -> Cause.CAUSE_NO_CAPACITY;
      case NotScheduledYet early -> Cause.CAUSE_NO_CAPACITY;
      case GangIncomplete incomplete -> Cause.CAUSE_NO_CAPACITY;
      case GangNoCapacity none -> Cause.CAUSE_NO_CAPACITY;
    };
  }

  /** Returns the reason as a message. */
  default io.gpupool.control.v1.RejectionReason message() {
    return RejectionMessages.of(this);
  }

  /** Returns the sentence, for logs. */
  default String text() {
    return RejectionText.of(message());
  }
}
