// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CollectiveCallLayout;
import io.gpupool.cuda.CollectiveOps;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.collective.CollectiveCall;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.collective.Communicator.Connection;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTable;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.Payload;
import io.gpupool.worker.session.quota.OwnedMemory;
import io.gpupool.worker.session.stream.StreamBarriers;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The session's ranks of communicators, by the client's numbers. Used by the session's thread
 * alone.
 */
public final class Communicators implements CollectiveOps {
  private static final int MAX_COMMUNICATORS = 256;
  private static final int MAX_RANKS = 4096;
  private static final int ID_BYTES = 128;
  private static final int MAX_ERROR_BYTES = 1024;

  /** More than enough for ranks whose channels are closed. */
  private static final long END_MILLIS = 10_000;

  private final CurrentCall call;
  private final HandleTables handles;
  private final StreamBarriers barriers;
  private final Collectives collectives;
  private final Map<Integer, Communicator> communicators = new HashMap<>();

  /** Those that the program has ended, while their threads have something to carry out. */
  private final List<Communicator> ending = new ArrayList<>();

  public Communicators(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      Waits waits,
      OwnedMemory owned,
      RankDirectory directory) {
    this.call = call;
    this.handles = handles;
    barriers = new StreamBarriers(backend, call, waits);
    collectives =
        backend.memoryIsInProcess()
            ? new SoftCollectives(backend, barriers, directory)
            : new NcclCollectives(backend, owned, directory);
  }

  @Override
  public void communicatorJoin(
      int tag, int number, int ranks, int rank, long idAddress, long idBytes) {
    int result = refusal(number);
    boolean isRank = ranks > 0 && ranks <= MAX_RANKS && rank >= 0 && rank < ranks;
    if (result == 0 && (!isRank || idBytes != ID_BYTES)) {
      result = CudaResult.INVALID_VALUE;
    }
    if (result == 0) {
      Communicator made = collectives.make(call.context());
      communicators.put(number, made);
      String id = CommunicatorId.of(Memory.bytes(idAddress, ID_BYTES));
      made.join(new RankName(id, rank), ranks);
    }
    call.reply(tag, result);
  }

  @Override
  public void communicatorSplit(int tag, int parentNumber, int number, int color, int key) {
    Communicator parent = communicators.get(parentNumber);
    int result = refusal(number);
    if (result == 0 && (parent == null || !parent.isUsable())) {
      result = CudaResult.INVALID_HANDLE;
    }
    if (result == 0 && parent != null) {
      communicators.put(number, parent.split(color, key));
    }
    call.reply(tag, result);
  }

  /** Returns why no communicator of a number can be made now; 0: it can. */
  private int refusal(int number) {
    if (!call.context().exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    if (communicators.containsKey(number)) {
      return CudaResult.INVALID_VALUE;
    }
    ending.removeIf(communicator -> !communicator.isAlive());
    return communicators.size() + ending.size() < MAX_COMMUNICATORS ? 0 : CudaResult.OUT_OF_MEMORY;
  }

  @Override
  public void communicatorState(
      int tag,
      int number,
      boolean stateWanted,
      boolean ranksWanted,
      boolean rankWanted,
      boolean pendingWanted) {
    Communicator communicator = communicators.get(number);
    if (communicator == null) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    Communicator.State state = communicator.state();
    long out = call.out();
    long end = put(out, stateWanted, state.result());
    end = put(end, ranksWanted, state.ranks());
    end = put(end, rankWanted, state.rank());
    end = put(end, pendingWanted, state.pending());
    call.reply(tag, 0, out, (int) (end - out));
  }

  private static long put(long at, boolean isWanted, long value) {
    if (!isWanted) {
      return at;
    }
    Memory.putLong(at, value);
    return at + Long.BYTES;
  }

  @Override
  public void communicatorError(int tag, int number, long textCapacityBytes) {
    Communicator communicator = communicators.get(number);
    if (communicator == null) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    byte[] text = communicator.error().getBytes(StandardCharsets.UTF_8);
    int capacityBytes = Math.clamp(textCapacityBytes, 0, MAX_ERROR_BYTES);
    byte[] told = Arrays.copyOf(text, Math.min(text.length, capacityBytes));
    try (Arena arena = Arena.ofConfined()) {
      Payload payload = new Payload(arena, MAX_ERROR_BYTES + 16);
      payload.variable(textCapacityBytes != 0, told);
      call.reply(tag, 0, payload.address(), payload.lengthBytes());
    }
  }

  @Override
  public int communicatorConnect(int number, long peersAddress, long peersBytes) {
    Communicator communicator = communicators.get(number);
    if (communicator == null || !communicator.isUsable()) {
      return CudaResult.INVALID_HANDLE;
    }
    long count = peersBytes / Integer.BYTES;
    if (peersBytes % Integer.BYTES != 0 || count > 2L * communicator.ranks()) {
      return CudaResult.INVALID_VALUE;
    }
    List<Connection> connections = new ArrayList<>();
    for (long at = peersAddress; at < peersAddress + peersBytes; at += Integer.BYTES) {
      int word = Memory.getInt(at);
      Connection connection = new Connection(word >>> 1, (word & 1) != 0);
      if (connection.peer() >= communicator.ranks()) {
        return CudaResult.INVALID_VALUE;
      }
      connections.add(connection);
    }
    communicator.connect(connections);
    return CudaResult.SUCCESS;
  }

  @Override
  public int communicatorCalls(int number, int stream, WireStruct calls) {
    Communicator communicator = communicators.get(number);
    if (communicator == null || !communicator.isUsable()) {
      return CudaResult.INVALID_HANDLE;
    }
    long handle = handles.stream(stream);
    boolean isInContext = call.context() == communicator.context();
    int refused = isInContext ? HandleTable.found(handle) : CudaResult.INVALID_CONTEXT;
    List<CollectiveCall> group = new ArrayList<>();
    long count = calls.lengthBytes() / CollectiveCallLayout.BYTES;
    if (refused == 0 && (count == 0 || !calls.is(count * CollectiveCallLayout.BYTES))) {
      refused = CudaResult.INVALID_VALUE;
    }
    for (long i = 0; i < count && refused == 0; i++) {
      Optional<CollectiveCall> one =
          CollectiveCall.read(calls, i * CollectiveCallLayout.BYTES, communicator.ranks())
              .filter(read -> namesMemory(read, communicator));
      one.ifPresent(group::add);
      refused = one.isPresent() ? 0 : CudaResult.INVALID_VALUE;
    }
    if (refused != 0) {
      // The other ranks would wait for what this one never sends.
      communicator.abort("a call names memory that is not the session's, or has a wrong form");
      return refused;
    }
    return communicator.add(group, handle);
  }

  private boolean namesMemory(CollectiveCall one, Communicator communicator) {
    int rank = communicator.rank();
    int ranks = communicator.ranks();
    return collectives.isMemory(one.readRange(rank, ranks))
        && collectives.isMemory(one.writtenRange(rank, ranks))
        && collectives.isMemory(one.scalarRange());
  }

  @Override
  public int communicatorAbort(int number) {
    Communicator communicator = communicators.get(number);
    if (communicator == null) {
      return CudaResult.INVALID_HANDLE;
    }
    communicator.abort("the communicator was aborted");
    return CudaResult.SUCCESS;
  }

  @Override
  public int communicatorEnd(int number) {
    Communicator communicator = communicators.remove(number);
    if (communicator == null) {
      return CudaResult.INVALID_HANDLE;
    }
    communicator.end();
    ending.add(communicator);
    return CudaResult.SUCCESS;
  }

  /** Ends what a context that is going down has. */
  public void forget(ContextState context) {
    List<Communicator> gone = all().filter(one -> one.context() == context).toList();
    end(gone, "the context of the communicator was destroyed");
    communicators.values().removeAll(gone);
    ending.removeAll(gone);
    barriers.forget(context);
  }

  /** Ends all. */
  public void close() {
    end(all().toList(), "the session has ended");
    communicators.clear();
    ending.clear();
  }

  private Stream<Communicator> all() {
    return Stream.concat(communicators.values().stream(), ending.stream());
  }

  /**
   * Ends communicators, and waits until they touch no memory. One that the program has ended, and
   * that has carried out everything, leaves in order.
   */
  private void end(List<Communicator> gone, String reason) {
    gone.stream()
        .filter(one -> !ending.contains(one) || one.state().pending() > 0)
        .forEach(one -> one.abort(reason));
    long endMillis = System.currentTimeMillis() + END_MILLIS;
    gone.forEach(one -> one.awaitEnd(endMillis - System.currentTimeMillis()));
  }
}
