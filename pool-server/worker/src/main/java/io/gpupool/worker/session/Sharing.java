// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.ShareOps;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.Exchange.Kind;
import io.gpupool.worker.session.Exchange.Offer;
import io.gpupool.worker.session.Exchange.Taken;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.OptionalInt;

/**
 * Memory and events that the session shares with others of its lease, by the backend's handles for
 * other processes. Used by the session's thread alone.
 */
final class Sharing implements ShareOps {
  /** Of CUipcMemHandle, CUipcEventHandle and CUmemPoolPtrExportData. */
  static final int HANDLE_BYTES = 64;

  private static final int MAX_OPENED = 1 << 20;

  private final SessionState state;
  private final DeviceMemory memory;
  private final MemoryPools pools;
  private final BlockingCalls blocking;
  private final Map<Token, Opened> byToken = new HashMap<>();
  private final Map<Long, Opened> byAddress = new HashMap<>();

  /** Memory of another session; how often it was opened. */
  private static final class Opened {
    final Token token;
    final Kind kind;
    final ContextState context;
    final long address;
    final long lengthBytes;
    int times = 1;

    Opened(Token token, Kind kind, ContextState context, long address, long lengthBytes) {
      this.token = token;
      this.kind = kind;
      this.context = context;
      this.address = address;
      this.lengthBytes = lengthBytes;
    }
  }

  Sharing(SessionState state, DeviceMemory memory, MemoryPools pools, BlockingCalls blocking) {
    this.state = state;
    this.memory = memory;
    this.pools = pools;
    this.blocking = blocking;
  }

  @Override
  public void memShare(
      int tag, long address, boolean word0, boolean word1, boolean word2, boolean word3) {
    shareMemory(tag, Kind.MEMORY, address);
  }

  @Override
  public void poolShareMemory(
      int tag, long address, boolean word0, boolean word1, boolean word2, boolean word3) {
    shareMemory(tag, Kind.POINTER, address);
  }

  /** Memory that was allocated by itself, or of a pool. */
  private void shareMemory(int tag, Kind kind, long address) {
    long lengthBytes = memory.shareableBytes(kind, address);
    if (lengthBytes == 0) {
      state.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    share(
        tag,
        kind,
        address,
        memory.gpu(address),
        lengthBytes,
        out ->
            blocking.call(() ->
                kind == Kind.MEMORY
                    ? state.backend.cuIpcGetMemHandle(out, address)
                    : state.backend.cuMemPoolExportPointer(out, address)));
  }

  /** Writes a handle for other processes. */
  private interface Maker {
    /** CUresult. */
    int make(long out);
  }

  private void share(int tag, Kind kind, long id, int gpu, long lengthBytes, Maker maker) {
    try {
      long out = state.out();
      Token token = state.exports.token(kind, id).orElse(null);
      if (token == null) {
        int result = maker.make(out);
        if (result != 0) {
          state.reply(tag, result);
          return;
        }
        int descriptor = state.backend.descriptorOf(out);
        OptionalInt passed = descriptor < 0 ? OptionalInt.empty() : OptionalInt.of(descriptor);
        byte[] handle = Memory.bytes(out, HANDLE_BYTES);
        token = state.exports.add(id, new Offer(kind, gpu, lengthBytes, passed, handle));
      }
      state.reply(tag, 0, out, Exports.put(out, token));
    } catch (NotSharedException e) {
      state.reply(tag, e.result());
    }
  }

  @Override
  public void memOpen(
      int tag,
      long word0,
      long word1,
      long word2,
      long word3,
      int flags,
      boolean addressWanted,
      boolean lengthBytesWanted) {
    Token token = new Token(word0, word1, word2, word3);
    open(tag, Kind.MEMORY, token, (out, in) -> state.backend.cuIpcOpenMemHandle_v2(out, in, flags));
  }

  @Override
  public void poolOpenMemory(
      int tag,
      int pool,
      long word0,
      long word1,
      long word2,
      long word3,
      boolean addressWanted,
      boolean lengthBytesWanted) {
    long handle = pools.handle(pool);
    if (handle == SessionServices.NO_HANDLE) {
      state.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    Token token = new Token(word0, word1, word2, word3);
    open(
        tag,
        Kind.POINTER,
        token,
        (out, in) -> state.backend.cuMemPoolImportPointer(out, handle, in));
  }

  /** Opens what a handle of another process stands for. */
  private interface Opener {
    /** CUresult; the address goes to {@code out}. */
    int open(long out, long in);
  }

  private void open(int tag, Kind kind, Token token, Opener opener) {
    Opened known = byToken.get(token);
    if (known != null) {
      known.times++;
      answer(tag, known);
      return;
    }
    if (!state.current.exists() || byAddress.size() >= MAX_OPENED) {
      state.reply(
          tag, state.current.exists() ? CudaResult.OUT_OF_MEMORY : CudaResult.INVALID_CONTEXT);
      return;
    }
    try {
      Taken taken = state.exports.exchange().take(token, kind);
      long out = state.out();
      int result = withHandle(taken, in -> opener.open(out, in));
      if (result != 0) {
        state.exports.exchange().giveBack(token);
        state.reply(tag, result);
        return;
      }
      Opened opened =
          new Opened(token, kind, state.current, Memory.getLong(out), taken.lengthBytes());
      byToken.put(token, opened);
      byAddress.put(opened.address, opened);
      state.owned.add(opened.address, opened.lengthBytes);
      answer(tag, opened);
    } catch (NotSharedException e) {
      state.reply(tag, e.result());
    }
  }

  private void answer(int tag, Opened opened) {
    long out = state.out();
    Memory.putLong(out, opened.address);
    Memory.putLong(out + 8, opened.lengthBytes);
    state.reply(tag, 0, out, 16);
  }

  @Override
  public void memClose(int tag, long address) {
    Opened opened = byAddress.get(address);
    if (opened == null) {
      state.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    int result = CudaResult.SUCCESS;
    if (--opened.times == 0) {
      byAddress.remove(address);
      state.owned.remove(address);
      result = blocking.call(() -> end(opened));
      forget(opened);
    }
    state.reply(tag, result);
  }

  private int end(Opened opened) {
    return opened.kind == Kind.MEMORY
        ? state.backend.cuIpcCloseMemHandle(opened.address)
        : state.backend.cuMemFree_v2(opened.address);
  }

  private void forget(Opened opened) {
    byToken.remove(opened.token);
    state.exports.exchange().giveBack(opened.token);
  }

  /** What was opened in a context goes down with it. */
  void forget(ContextState context) {
    for (Iterator<Opened> all = byAddress.values().iterator(); all.hasNext(); ) {
      Opened opened = all.next();
      if (opened.context == context) {
        state.owned.remove(opened.address);
        int ignored = end(opened);
        all.remove();
        forget(opened);
      }
    }
  }

  @Override
  public void eventShare(
      int tag, int event, boolean word0, boolean word1, boolean word2, boolean word3) {
    long handle = state.events.get(event);
    if (handle == SessionServices.NO_HANDLE) {
      state.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    int gpu = ((ContextState) state.events.owner(event)).gpu;
    share(tag, Kind.EVENT, event, gpu, 0, out -> state.backend.cuIpcGetEventHandle(out, handle));
  }

  @Override
  public void eventOpen(int tag, long word0, long word1, long word2, long word3, int event) {
    int refused = state.current.exists() ? state.events.check(event) : CudaResult.INVALID_CONTEXT;
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    Token token = new Token(word0, word1, word2, word3);
    try {
      Taken taken = state.exports.exchange().take(token, Kind.EVENT);
      long out = state.out();
      int result = withHandle(taken, in -> state.backend.cuIpcOpenEventHandle(out, in));
      if (result == 0) {
        state.events.put(event, Memory.getLong(out), state.current);
      }
      // An event has no memory that somebody has to keep.
      state.exports.exchange().giveBack(token);
      state.reply(tag, result);
    } catch (NotSharedException e) {
      state.reply(tag, e.result());
    }
  }

  /** Gives a backend what another one wrote, with the descriptor as it is here. */
  private int withHandle(Taken taken, Maker user) {
    long in = state.in();
    Memory.clear(in, HANDLE_BYTES);
    Memory.put(in, taken.handle(), Math.min(taken.handle().length, HANDLE_BYTES));
    taken.descriptor().ifPresent(descriptor -> state.backend.setDescriptor(in, descriptor));
    try {
      return user.make(in);
    } finally {
      taken.descriptor().ifPresent(Posix::close);
    }
  }
}
