// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.util.List;
import java.util.concurrent.ExecutorService;

/**
 * What the parts of a session share. Owned by the session's thread, but for the answers, the waits
 * and the threads.
 */
final class SessionState {
  /** Waits beyond this are refused; a program has as many as it has threads and pending copies. */
  static final int MAX_WAITS = 1 << 14;

  private static final int LEGACY_STREAM = 1;
  private static final int SCRATCH_BYTES = 4096;
  private static final int CALL_BYTES = SessionServices.OUTPUT_BYTES;

  final Backend backend;
  final Answers answers;
  final Waits waits;
  final List<LeasedGpu> gpus;
  final Ledger ledger;
  final DriverOverhead overhead;
  final MemoryQuota quota;
  final FirstLaunches firstLaunches;
  final StreamFrees frees;
  final Exports exports;
  final OwnedMemory owned;
  final ExecutorService threads;
  final HandleTable streams = new HandleTable();
  final HandleTable events = new HandleTable();
  final HandleTable modules = new HandleTable();
  final HandleTable functions = new HandleTable();
  final HandleTable arrays = new HandleTable();
  final HandleTable mipmaps = new HandleTable();

  /** Stands for a context number that names nothing. */
  final ContextState noContext;

  /** The context of the frame being executed. */
  ContextState current;

  private final long scratch = Posix.map(SCRATCH_BYTES);

  SessionState(
      Backend backend,
      Answers answers,
      Waits waits,
      List<LeasedGpu> gpus,
      Ledger ledger,
      Exports exports,
      ExecutorService threads,
      Runnable readAhead) {
    this.backend = backend;
    this.answers = answers;
    this.waits = waits;
    this.gpus = gpus;
    this.ledger = ledger;
    overhead = new DriverOverhead(backend, ledger, gpus);
    quota = new MemoryQuota(ledger, overhead, backend, waits, answers, readAhead);
    firstLaunches = new FirstLaunches(backend, quota);
    frees = new StreamFrees(this);
    this.exports = exports;
    owned = new OwnedMemory(backend);
    this.threads = threads;
    noContext = new ContextState(backend, 0, -1, -1, 0, false);
    current = noContext;
  }

  /** Zeroed memory for the outputs of one backend call: 512 bytes. */
  long out() {
    Memory.clear(scratch, CALL_BYTES);
    return scratch;
  }

  /** Memory for the inputs of one backend call, apart from {@link #out}: 3584 bytes. */
  long in() {
    return scratch + CALL_BYTES;
  }

  long stream(int number) {
    return number == 0 || number == LEGACY_STREAM ? number : streams.get(number);
  }

  /** One end of a copy, of numbers as they travel: array 0 is memory. */
  Copy3D.Side side(int array, long address, long x, long y, long z, long pitch, long rows) {
    return array == 0
        ? new Copy3D.Side(0, address, 0, 0, 0, pitch, rows)
        : new Copy3D.Side(arrays.get(array), 0, x, y, z, 0, 0);
  }

  /** Whether the memory of a box is the session's; an array is, by its number. */
  boolean owns(Copy3D.Side side, Copy3D box) {
    return side.array() != 0 || owned.owns(side.address(), side.spanBytes(box));
  }

  /** Answers a fenced call, remembering an error that stays. */
  void reply(int tag, int result) {
    note(result);
    answers.reply(tag, result);
  }

  /** Answers a fenced call; the payload goes only with success. */
  void reply(int tag, int result, long address, int lengthBytes) {
    note(result);
    if (result == 0) {
      answers.reply(tag, 0, address, lengthBytes);
    } else {
      answers.reply(tag, result);
    }
  }

  /** Answers a call whose answer says that work is complete. */
  void replyComplete(int tag, int result) {
    note(result);
    answers.lock();
    try {
      waits.completeCopies(current);
      answers.reply(tag, result);
    } finally {
      answers.unlock();
    }
  }

  /** The result of looking a handle up. */
  static int found(long handle) {
    return handle == SessionServices.NO_HANDLE ? CudaResult.INVALID_HANDLE : CudaResult.SUCCESS;
  }

  void release() {
    Posix.unmap(scratch, SCRATCH_BYTES);
  }

  private void note(int result) {
    if (CudaResult.isSticky(result)) {
      current.report(result);
    }
  }
}
