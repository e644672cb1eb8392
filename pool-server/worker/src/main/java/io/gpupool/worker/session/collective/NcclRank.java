// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CollectiveKind;
import io.gpupool.cuda.ReduceOperation;
import io.gpupool.nccl.LibNccl;
import io.gpupool.nccl.NcclException;
import io.gpupool.worker.collective.CollectiveCall;
import io.gpupool.worker.collective.Scalar;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.core.ContextState;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A communicator of NVIDIA's NCCL. Calls of several threads take turns, which NCCL demands; only an
 * abort does not wait for a call that does not return.
 */
final class NcclRank {
  private static final long TURN_MILLIS = 1000;
  private static final int INT8 = 0;
  private static final int NON_BLOCKING = 1;
  private static final int OWN_BYTES = 64;
  private static final int IN_DEVICE_MEMORY = 0;
  private static final int IN_HOST_MEMORY = 1;

  private final LibNccl nccl;
  private final Backend backend;
  private final ContextState context;
  private final ReentrantLock turn = new ReentrantLock();

  /** NCCL's; 0: it has ended. */
  private final AtomicLong handle;

  /** Of the rank's own transfers; 0: it has made none. */
  private long stream;

  /** Page-locked memory for them; 0: likewise. */
  private long bytes;

  private NcclRank(LibNccl nccl, Backend backend, ContextState context, long handle) {
    this.nccl = nccl;
    this.backend = backend;
    this.context = context;
    this.handle = new AtomicLong(handle);
  }

  /** Joins by an id of NCCL's; waits for the other ranks. */
  static NcclRank join(Backend backend, ContextState context, int ranks, byte[] id, int rank)
      throws NcclException {
    LibNccl nccl = backend.nccl();
    requireContext(backend, context);
    return new NcclRank(nccl, backend, context, nccl.initRank(ranks, id, rank));
  }

  private static void requireContext(Backend backend, ContextState context) throws NcclException {
    int result = backend.cuCtxSetCurrent(context.handle);
    if (result != 0) {
      throw new NcclException(
          NcclResult.UNHANDLED_CUDA_ERROR, "its context has failed with CUDA error " + result);
    }
  }

  int ranks() throws NcclException {
    return nccl.ranks(live());
  }

  int rank() throws NcclException {
    return nccl.rank(live());
  }

  private long live() throws NcclException {
    long live = handle.get();
    if (live == 0) {
      throw new NcclException(NcclResult.INVALID_USAGE, "the communicator has ended");
    }
    return live;
  }

  /** Splits it; waits for the other ranks. Returns null for a rank without a colour. */
  @Nullable NcclRank split(int color, int key) throws NcclException {
    turn.lock();
    try {
      requireContext(backend, context);
      long made = nccl.split(live(), color, key);
      return made == 0 ? null : new NcclRank(nccl, backend, context, made);
    } finally {
      turn.unlock();
    }
  }

  /** Submits the calls of a group to a stream; its context is current. */
  void submit(List<CollectiveCall> group, long into) throws NcclException {
    long lengthBytes = 0;
    for (CollectiveCall call : group) {
      lengthBytes += call.count() * call.type().bytes();
    }
    turn.lock();
    try (Arena arena = Arena.ofConfined()) {
      long live = live();
      Operators operators = new Operators(live, arena.allocate(2L * Long.BYTES, 8).address());
      int result = backend.submit(into, lengthBytes, () -> operators.submit(group, into));
      // NCCL's library of the runtime selects contexts as it likes.
      int selected = backend.cuCtxSetCurrent(context.handle);
      if (handle.get() == live) {
        nccl.require(live, "a call", result);
      }
      if (selected != 0) {
        throw new NcclException(
            NcclResult.UNHANDLED_CUDA_ERROR, "its context has failed with CUDA error " + selected);
      }
    } finally {
      turn.unlock();
    }
  }

  /** The submission of one group, with the operators that it needs. */
  private final class Operators {
    private final long communicator;
    private final long scratch;

    Operators(long communicator, long scratch) {
      this.communicator = communicator;
      this.scratch = scratch;
    }

    int submit(List<CollectiveCall> group, long into) {
      int[] operations = new int[group.size()];
      int result = 0;
      int made = 0;
      while (made < operations.length && result == 0) {
        result = make(group.get(made), operations, made);
        made += result == 0 ? 1 : 0;
      }
      if (result == 0) {
        result = calls(group, operations, into);
      }
      for (int i = 0; i < made; i++) {
        if (isMade(group.get(i))) {
          int ignored = nccl.endOperator(operations[i], communicator);
        }
      }
      return result;
    }

    private int calls(List<CollectiveCall> group, int[] operations, long into) {
      boolean isGroup = group.size() > 1;
      int result = isGroup ? nccl.groupStart() : 0;
      if (result != 0) {
        return result;
      }
      for (int i = 0; i < operations.length && result == 0; i++) {
        result = call(group.get(i), operations[i], into);
      }
      int ended = isGroup ? nccl.groupEnd() : 0;
      return result == 0 ? ended : result;
    }

    private static boolean isMade(CollectiveCall call) {
      return call.reduces() && call.operation() == ReduceOperation.PRE_MULTIPLIED_SUM;
    }

    private int make(CollectiveCall call, int[] operations, int at) {
      operations[at] = call.operation();
      if (!isMade(call)) {
        return 0;
      }
      Scalar scalar = call.scalar();
      Memory.putLong(scratch + Long.BYTES, scalar.bits());
      int result =
          nccl.makeOperator(
              scratch,
              scalar.isInMemory() ? scalar.bits() : scratch + Long.BYTES,
              call.type().ordinal(),
              scalar.isInMemory() ? IN_DEVICE_MEMORY : IN_HOST_MEMORY,
              communicator);
      operations[at] = Memory.getInt(scratch);
      return result;
    }

    private int call(CollectiveCall call, int operation, long into) {
      long from = call.send();
      long to = call.receive();
      long count = call.count();
      int type = call.type().ordinal();
      int peer = call.peer();
      return switch (call.kind()) {
        case CollectiveKind.ALL_REDUCE ->
            nccl.allReduce(from, to, count, type, operation, communicator, into);
        case CollectiveKind.BROADCAST ->
            nccl.broadcast(from, to, count, type, peer, communicator, into);
        case CollectiveKind.REDUCE ->
            nccl.reduce(from, to, count, type, operation, peer, communicator, into);
        case CollectiveKind.ALL_GATHER -> nccl.allGather(from, to, count, type, communicator, into);
        case CollectiveKind.REDUCE_SCATTER ->
            nccl.reduceScatter(from, to, count, type, operation, communicator, into);
        case CollectiveKind.SEND -> nccl.send(from, count, type, peer, communicator, into);
        default -> nccl.receive(to, count, type, peer, communicator, into);
      };
    }
  }

  /**
   * Connects it with other ranks, by a byte to or from each; waits for them. NCCL would do so
   * within the first transfer, and keep its caller waiting.
   */
  void connect(List<Communicator.Connection> connections) throws NcclException {
    turn.lock();
    try {
      requireContext(backend, context);
      long live = live();
      prepare();
      nccl.require(live, "ncclGroupStart", nccl.groupStart());
      int result = 0;
      for (Communicator.Connection connection : connections) {
        int peer = connection.peer();
        int begun =
            connection.receives()
                ? nccl.receive(bytes + 1, 1, INT8, peer, live, stream)
                : nccl.send(bytes, 1, INT8, peer, live, stream);
        result = result == 0 ? begun : result;
      }
      int ended = nccl.groupEnd();
      nccl.require(live, "a connection", result == 0 ? ended : result);
    } finally {
      turn.unlock();
    }
    int result = backend.cuCtxSetCurrent(context.handle);
    result = result == 0 ? backend.cuStreamSynchronize(stream) : result;
    if (result != 0) {
      throw new NcclException(
          NcclResult.UNHANDLED_CUDA_ERROR, "a connection failed with CUDA error " + result);
    }
  }

  /** Makes the stream and the memory of the rank's own transfers. */
  private void prepare() throws NcclException {
    try (Arena arena = Arena.ofConfined()) {
      long made = arena.allocate(Long.BYTES, 8).address();
      int result = 0;
      if (bytes == 0) {
        result = backend.cuMemHostAlloc(made, OWN_BYTES, 0);
        bytes = result == 0 ? Memory.getLong(made) : 0;
      }
      if (stream == 0 && result == 0) {
        result = backend.cuStreamCreateWithPriority(made, NON_BLOCKING, 0);
        stream = result == 0 ? Memory.getLong(made) : 0;
      }
      if (result != 0) {
        throw new NcclException(
            NcclResult.UNHANDLED_CUDA_ERROR,
            "no stream or memory for connections: CUDA error " + result);
      }
    }
  }

  /** Returns the error that it has met meanwhile; 0 if none, or if it is busy. */
  int asyncError() {
    if (!turn.tryLock()) {
      return 0;
    }
    try {
      long live = handle.get();
      return live == 0 ? 0 : nccl.asyncError(live);
    } catch (NcclException e) {
      return e.result();
    } finally {
      turn.unlock();
    }
  }

  /** Returns the text of an error of {@link #asyncError}. */
  String errorText(int error) {
    try {
      nccl.require(handle.get(), "an earlier call", error);
      return "";
    } catch (NcclException e) {
      return String.valueOf(e.getMessage());
    }
  }

  /** Ends it in order, after the other ranks' calls with this one are complete, too. */
  void end() throws NcclException {
    turn.lock();
    try {
      requireContext(backend, context);
      long live = handle.getAndSet(0);
      if (live != 0) {
        endOwn();
        nccl.require(live, "ncclCommFinalize", nccl.end(live));
        nccl.require(0, "ncclCommDestroy", nccl.destroy(live));
      }
    } finally {
      turn.unlock();
    }
  }

  private void endOwn() {
    if (stream != 0) {
      int ignored = backend.cuStreamDestroy_v2(stream);
      stream = 0;
    }
    if (bytes != 0) {
      int ignored = backend.cuMemFreeHost(bytes);
      bytes = 0;
    }
  }

  /** Ends it at once, and what runs of it; a call that does not return does so then. */
  void abort() {
    boolean hasTurn = false;
    try {
      hasTurn = turn.tryLock(TURN_MILLIS, TimeUnit.MILLISECONDS);
      long live = handle.getAndSet(0);
      if (live != 0 && backend.cuCtxSetCurrent(context.handle) == 0) {
        int ignored = nccl.abort(live);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException("the abort of a rank was interrupted", e);
    } finally {
      if (hasTurn) {
        turn.unlock();
      }
    }
  }
}
