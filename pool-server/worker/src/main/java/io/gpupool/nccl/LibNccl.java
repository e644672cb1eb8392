// SPDX-License-Identifier: Apache-2.0
package io.gpupool.nccl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The functions of NVIDIA's {@code libnccl.so.2}. Communicators, streams and device memory are
 * addresses; an {@code int} that a function returns is an {@code ncclResult_t}. Any thread may call
 * them, but no two at a time for one communicator, except to abort it.
 */
public final class LibNccl {
  /** Length of an {@code ncclUniqueId}. */
  public static final int ID_BYTES = 128;

  private static final long MAX_TEXT_BYTES = 1024;

  /** {@code ncclUniqueId}, which is passed by value. */
  private static final StructLayout ID =
      MemoryLayout.structLayout(MemoryLayout.sequenceLayout(ID_BYTES, JAVA_BYTE));

  private static final FunctionDescriptor NOTHING = FunctionDescriptor.of(JAVA_INT);
  private static final FunctionDescriptor COMMUNICATOR = FunctionDescriptor.of(JAVA_INT, JAVA_LONG);
  private static final FunctionDescriptor QUESTION =
      FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS);
  private static final FunctionDescriptor TEXT = FunctionDescriptor.of(ADDRESS, JAVA_LONG);

  /** Two buffers, count, type, an operation or a root, communicator, stream. */
  private static final FunctionDescriptor COLLECTIVE =
      FunctionDescriptor.of(
          JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);

  private static final FunctionDescriptor REDUCE =
      FunctionDescriptor.of(
          JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG,
          JAVA_LONG);
  private static final FunctionDescriptor ALL_GATHER =
      FunctionDescriptor.of(
          JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
  private static final FunctionDescriptor TRANSFER =
      FunctionDescriptor.of(
          JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);

  private final SymbolLookup library;

  /** The functions that were called by name, by it. */
  private final Map<String, MethodHandle> called = new ConcurrentHashMap<>();

  private final MethodHandle groupStart;
  private final MethodHandle groupEnd;
  private final MethodHandle allReduce;
  private final MethodHandle broadcast;
  private final MethodHandle reduce;
  private final MethodHandle allGather;
  private final MethodHandle reduceScatter;
  private final MethodHandle send;
  private final MethodHandle receive;

  /** A call by a bound handle. */
  private interface Call {
    Object run(MethodHandle function, Arena arena) throws Throwable;
  }

  LibNccl(SymbolLookup library) {
    this.library = library;
    groupStart = bind("ncclGroupStart", NOTHING);
    groupEnd = bind("ncclGroupEnd", NOTHING);
    allReduce = bind("ncclAllReduce", COLLECTIVE);
    broadcast = bind("ncclBroadcast", COLLECTIVE);
    reduce = bind("ncclReduce", REDUCE);
    allGather = bind("ncclAllGather", ALL_GATHER);
    reduceScatter = bind("ncclReduceScatter", COLLECTIVE);
    send = bind("ncclSend", TRANSFER);
    receive = bind("ncclRecv", TRANSFER);
  }

  /** Returns the version of a library; 0 if it is no NCCL. */
  static int version(SymbolLookup library) {
    MemorySegment function = library.find("ncclGetVersion").orElse(MemorySegment.NULL);
    if (function.address() == 0) {
      return 0;
    }
    MethodHandle ask =
        Linker.nativeLinker().downcallHandle(function, FunctionDescriptor.of(JAVA_INT, ADDRESS));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment version = arena.allocate(JAVA_INT);
      return (int) ask.invokeExact(version) == 0 ? version.get(JAVA_INT, 0) : 0;
    } catch (Throwable e) {
      throw failed("ncclGetVersion", e);
    }
  }

  private MethodHandle bind(String name, FunctionDescriptor descriptor) {
    return Linker.nativeLinker().downcallHandle(library.findOrThrow(name), descriptor);
  }

  private static AssertionError failed(String name, Throwable cause) {
    return new AssertionError("call of " + name + " could not be made", cause);
  }

  /** Makes a call by name, which is looked up with the first. */
  private Object byName(String name, FunctionDescriptor descriptor, Call call) {
    try (Arena arena = Arena.ofConfined()) {
      return call.run(called.computeIfAbsent(name, key -> bind(key, descriptor)), arena);
    } catch (Throwable e) {
      throw failed(name, e);
    }
  }

  private int ofCommunicator(String name, long communicator) {
    return (int)
        byName(name, COMMUNICATOR, (function, _) -> (int) function.invokeExact(communicator));
  }

  // Communicators

  /** Makes the id of a communicator, whose ranks then meet at this process. */
  public byte[] uniqueId() throws NcclException {
    byte[] id = new byte[ID_BYTES];
    int result =
        (int)
            byName(
                "ncclGetUniqueId",
                FunctionDescriptor.of(JAVA_INT, ADDRESS),
                (function, arena) -> {
                  MemorySegment made = arena.allocate(ID_BYTES, 8);
                  int got = (int) function.invokeExact(made);
                  MemorySegment.copy(made, JAVA_BYTE, 0, id, 0, ID_BYTES);
                  return got;
                });
    require(0, "ncclGetUniqueId", result);
    return id;
  }

  /** Joins as a rank, with the GPU of the current context; waits for the others. */
  public long initRank(int ranks, byte[] id, int rank) throws NcclException {
    long[] made = new long[1];
    int result =
        (int)
            byName(
                "ncclCommInitRank",
                FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, ID, JAVA_INT),
                (function, arena) -> {
                  MemorySegment communicator = arena.allocate(JAVA_LONG);
                  MemorySegment name = arena.allocate(ID);
                  MemorySegment.copy(id, 0, name, JAVA_BYTE, 0, ID_BYTES);
                  int got = (int) function.invokeExact(communicator, ranks, name, rank);
                  made[0] = communicator.get(JAVA_LONG, 0);
                  return got;
                });
    require(0, "ncclCommInitRank", result);
    return made[0];
  }

  /** Splits a communicator; waits for its other ranks. Returns 0 for a rank without a colour. */
  public long split(long communicator, int color, int key) throws NcclException {
    long[] made = new long[1];
    long sameConfiguration = 0;
    int result =
        (int)
            byName(
                "ncclCommSplit",
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS, JAVA_LONG),
                (function, arena) -> {
                  MemorySegment part = arena.allocate(JAVA_LONG);
                  int got =
                      (int) function.invokeExact(communicator, color, key, part, sameConfiguration);
                  made[0] = part.get(JAVA_LONG, 0);
                  return got;
                });
    require(communicator, "ncclCommSplit", result);
    return made[0];
  }

  /** Returns the number of a communicator's ranks. */
  public int ranks(long communicator) throws NcclException {
    return answer("ncclCommCount", communicator);
  }

  /** Returns a communicator's own rank. */
  public int rank(long communicator) throws NcclException {
    return answer("ncclCommUserRank", communicator);
  }

  /** Returns the error that a communicator has met meanwhile; 0 if none. */
  public int asyncError(long communicator) throws NcclException {
    return answer("ncclCommGetAsyncError", communicator);
  }

  private int answer(String name, long communicator) throws NcclException {
    int[] answer = new int[1];
    int result =
        (int)
            byName(
                name,
                QUESTION,
                (function, arena) -> {
                  MemorySegment out = arena.allocate(JAVA_INT);
                  int got = (int) function.invokeExact(communicator, out);
                  answer[0] = out.get(JAVA_INT, 0);
                  return got;
                });
    require(communicator, name, result);
    return answer[0];
  }

  /** Has the other ranks know that no calls follow; waits for them. */
  public int end(long communicator) {
    return ofCommunicator("ncclCommFinalize", communicator);
  }

  /** Frees a communicator. */
  public int destroy(long communicator) {
    return ofCommunicator("ncclCommDestroy", communicator);
  }

  /** Ends what runs of a communicator, and frees it. */
  public int abort(long communicator) {
    return ofCommunicator("ncclCommAbort", communicator);
  }

  /** Throws unless a call was successful, with NCCL's own words. */
  public void require(long communicator, String call, int result) throws NcclException {
    if (result != 0) {
      throw new NcclException(
          result, "NCCL at the server: " + call + ": " + lastError(communicator, result));
    }
  }

  private String lastError(long communicator, int result) {
    String last = text("ncclGetLastError", communicator);
    return last.isBlank() ? text("ncclGetErrorString", result) : last.strip();
  }

  private String text(String name, long of) {
    return (String)
        byName(
            name,
            TEXT,
            (function, _) -> {
              MemorySegment text = (MemorySegment) function.invokeExact(of);
              return text.address() == 0 ? "" : text.reinterpret(MAX_TEXT_BYTES).getString(0);
            });
  }

  // Operators

  /**
   * Makes a sum of elements that are multiplied by a scalar.
   *
   * @param made 4 bytes for its number
   * @param scalar an element
   * @param residence 0: in device memory; 1: in this process's, and read at once
   */
  public int makeOperator(long made, long scalar, int type, int residence, long communicator) {
    return (int)
        byName(
            "ncclRedOpCreatePreMulSum",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG),
            (function, _) ->
                (int) function.invokeExact(made, scalar, type, residence, communicator));
  }

  /** Ends an operator; calls that were made with it keep it. */
  public int endOperator(int operator, long communicator) {
    return (int)
        byName(
            "ncclRedOpDestroy",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG),
            (function, _) -> (int) function.invokeExact(operator, communicator));
  }

  // Calls

  /** Begins a group of this thread's calls. */
  public int groupStart() {
    try {
      return (int) groupStart.invokeExact();
    } catch (Throwable e) {
      throw failed("ncclGroupStart", e);
    }
  }

  /** Submits the calls of a group. */
  public int groupEnd() {
    try {
      return (int) groupEnd.invokeExact();
    } catch (Throwable e) {
      throw failed("ncclGroupEnd", e);
    }
  }

  /** Adds up what all ranks send, or whatever the operation is. */
  public int allReduce(
      long from, long to, long count, int type, int operation, long communicator, long stream) {
    try {
      return (int) allReduce.invokeExact(from, to, count, type, operation, communicator, stream);
    } catch (Throwable e) {
      throw failed("ncclAllReduce", e);
    }
  }

  /** Has all ranks receive what one sends. */
  public int broadcast(
      long from, long to, long count, int type, int root, long communicator, long stream) {
    try {
      return (int) broadcast.invokeExact(from, to, count, type, root, communicator, stream);
    } catch (Throwable e) {
      throw failed("ncclBroadcast", e);
    }
  }

  /** Adds up at one rank what all send. */
  public int reduce(
      long from,
      long to,
      long count,
      int type,
      int operation,
      int root,
      long communicator,
      long stream) {
    try {
      return (int) reduce.invokeExact(from, to, count, type, operation, root, communicator, stream);
    } catch (Throwable e) {
      throw failed("ncclReduce", e);
    }
  }

  /** Has all ranks receive what all send. */
  public int allGather(long from, long to, long count, int type, long communicator, long stream) {
    try {
      return (int) allGather.invokeExact(from, to, count, type, communicator, stream);
    } catch (Throwable e) {
      throw failed("ncclAllGather", e);
    }
  }

  /** Adds up what all ranks send, a part at each. */
  public int reduceScatter(
      long from, long to, long count, int type, int operation, long communicator, long stream) {
    try {
      return (int)
          reduceScatter.invokeExact(from, to, count, type, operation, communicator, stream);
    } catch (Throwable e) {
      throw failed("ncclReduceScatter", e);
    }
  }

  /** Sends to a rank. */
  public int send(long from, long count, int type, int peer, long communicator, long stream) {
    try {
      return (int) send.invokeExact(from, count, type, peer, communicator, stream);
    } catch (Throwable e) {
      throw failed("ncclSend", e);
    }
  }

  /** Receives from a rank. */
  public int receive(long to, long count, int type, int peer, long communicator, long stream) {
    try {
      return (int) receive.invokeExact(to, count, type, peer, communicator, stream);
    } catch (Throwable e) {
      throw failed("ncclRecv", e);
    }
  }
}
