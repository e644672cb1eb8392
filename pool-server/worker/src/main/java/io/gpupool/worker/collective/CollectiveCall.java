// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.cuda.BackendTraits.AddressRange;
import io.gpupool.cuda.CollectiveCallLayout;
import io.gpupool.cuda.CollectiveKind;
import io.gpupool.cuda.ReduceOperation;
import io.gpupool.cuda.WireStruct;
import java.util.Optional;

/**
 * A call of NCCL as one rank made it.
 *
 * @param kind one of {@code CollectiveKind}
 * @param operation one of {@code ReduceOperation}
 * @param peer the root of a broadcast or reduction, the other rank of a transfer
 * @param count elements, as NCCL counts them for this kind
 * @param scalar of a sum of multiplied inputs
 */
public record CollectiveCall(
    int kind,
    ElementType type,
    int operation,
    int peer,
    long send,
    long receive,
    long count,
    Scalar scalar) {

  /** Reads one of several calls; none if there is no such call among so many ranks. */
  public static Optional<CollectiveCall> read(WireStruct calls, long offset, int ranks) {
    return ElementType.of(calls.i32(offset + CollectiveCallLayout.TYPE))
        .map(type -> read(calls, offset, type))
        .filter(call -> call.isPossible(ranks));
  }

  private static CollectiveCall read(WireStruct calls, long offset, ElementType type) {
    return new CollectiveCall(
        calls.i32(offset + CollectiveCallLayout.KIND),
        type,
        calls.i32(offset + CollectiveCallLayout.OPERATION),
        calls.i32(offset + CollectiveCallLayout.PEER),
        calls.u64(offset + CollectiveCallLayout.SEND),
        calls.u64(offset + CollectiveCallLayout.RECEIVE),
        calls.u64(offset + CollectiveCallLayout.COUNT),
        new Scalar(
            calls.u64(offset + CollectiveCallLayout.SCALAR),
            calls.i32(offset + CollectiveCallLayout.SCALAR_IN_MEMORY) != 0));
  }

  private boolean isPossible(int ranks) {
    boolean known =
        kind >= CollectiveKind.ALL_REDUCE
            && kind <= CollectiveKind.RECEIVE
            && operation >= ReduceOperation.SUM
            && operation <= ReduceOperation.PRE_MULTIPLIED_SUM;
    return known
        && peer >= 0
        && peer < ranks
        && count >= 0
        && count <= Long.MAX_VALUE / type.bytes() / ranks;
  }

  /** Returns whether it goes from one rank to another one. */
  public boolean isTransfer() {
    return kind == CollectiveKind.SEND || kind == CollectiveKind.RECEIVE;
  }

  /** Returns whether it combines the elements of several ranks. */
  public boolean reduces() {
    return kind == CollectiveKind.ALL_REDUCE
        || kind == CollectiveKind.REDUCE
        || kind == CollectiveKind.REDUCE_SCATTER;
  }

  /** Returns the length of what ranks send that send something. */
  public long sendBytes(int ranks) {
    return switch (kind) {
      case CollectiveKind.REDUCE_SCATTER -> bytes() * ranks;
      case CollectiveKind.RECEIVE -> 0;
      default -> bytes();
    };
  }

  /** Returns the length of what ranks receive that receive something. */
  public long receiveBytes(int ranks) {
    return switch (kind) {
      case CollectiveKind.ALL_GATHER -> bytes() * ranks;
      case CollectiveKind.SEND -> 0;
      default -> bytes();
    };
  }

  /** Returns what a rank reads of its memory, its scalar aside. */
  public AddressRange readRange(int rank, int ranks) {
    boolean reads = kind != CollectiveKind.BROADCAST || rank == peer;
    return reads ? new AddressRange(send, sendBytes(ranks)) : AddressRange.NONE;
  }

  /** Returns what a rank writes of its memory. */
  public AddressRange writtenRange(int rank, int ranks) {
    boolean writes = kind != CollectiveKind.REDUCE || rank == peer;
    return writes ? new AddressRange(receive, receiveBytes(ranks)) : AddressRange.NONE;
  }

  /** Returns where its scalar lies in memory, if it does. */
  public AddressRange scalarRange() {
    boolean reads =
        reduces() && operation == ReduceOperation.PRE_MULTIPLIED_SUM && scalar.isInMemory();
    return reads ? new AddressRange(scalar.bits(), type.bytes()) : AddressRange.NONE;
  }

  /** Returns the length of {@code count} elements. */
  long bytes() {
    return count * type.bytes();
  }
}
