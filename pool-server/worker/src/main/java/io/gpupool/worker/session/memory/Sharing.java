// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.memory;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.ShareOps;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.exchange.Exchange.Kind;
import io.gpupool.worker.session.exchange.Exchange.Offer;
import io.gpupool.worker.session.exchange.Exchange.Taken;
import io.gpupool.worker.session.exchange.Exports;
import io.gpupool.worker.session.exchange.NotSharedException;
import io.gpupool.worker.session.exchange.Token;
import io.gpupool.worker.session.quota.OwnedMemory;
import io.gpupool.worker.session.stream.BlockingCalls;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * Memory and events that the session shares with others of its lease, by the backend's handles for
 * other processes. Used by the session's thread alone.
 */
public final class Sharing implements ShareOps {
  /** Of CUipcMemHandle, CUipcEventHandle and CUmemPoolPtrExportData. */
  static final int HANDLE_BYTES = 64;

  private static final int MAX_OPENED = 1 << 20;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final OwnedMemory owned;
  private final Exports exports;
  private final Allocations allocations;
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

  public Sharing(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      OwnedMemory owned,
      Exports exports,
      Allocations allocations,
      MemoryPools pools,
      BlockingCalls blocking) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.owned = owned;
    this.exports = exports;
    this.allocations = allocations;
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
    long lengthBytes = allocations.shareableBytes(kind, address);
    if (lengthBytes == 0) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    share(
        tag,
        kind,
        address,
        allocations.gpu(address),
        lengthBytes,
        out ->
            blocking.call(() ->
                kind == Kind.MEMORY
                    ? backend.cuIpcGetMemHandle(out, address)
                    : backend.cuMemPoolExportPointer(out, address)));
  }

  /** Writes a handle for other processes. */
  private interface Maker {
    /** CUresult. */
    int make(long out);
  }

  private void share(int tag, Kind kind, long id, int gpu, long lengthBytes, Maker maker) {
    try {
      long out = call.out();
      Token token = exports.token(kind, id).orElse(null);
      if (token == null) {
        int result = maker.make(out);
        if (result != 0) {
          call.reply(tag, result);
          return;
        }
        int descriptor = backend.descriptorOf(out);
        Integer passed = descriptor < 0 ? null : descriptor;
        byte[] handle = Memory.bytes(out, HANDLE_BYTES);
        token = exports.add(id, new Offer(kind, gpu, lengthBytes, passed, handle));
      }
      call.reply(tag, 0, out, Exports.put(out, token));
    } catch (NotSharedException e) {
      call.reply(tag, e.result());
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
    open(tag, Kind.MEMORY, token, (out, in) -> backend.cuIpcOpenMemHandle_v2(out, in, flags));
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
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    Token token = new Token(word0, word1, word2, word3);
    open(tag, Kind.POINTER, token, (out, in) -> backend.cuMemPoolImportPointer(out, handle, in));
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
    if (!call.context().exists() || byAddress.size() >= MAX_OPENED) {
      call.reply(
          tag, call.context().exists() ? CudaResult.OUT_OF_MEMORY : CudaResult.INVALID_CONTEXT);
      return;
    }
    try {
      Taken taken = exports.exchange().take(token, kind);
      long out = call.out();
      int result = withHandle(taken, in -> opener.open(out, in));
      if (result != 0) {
        exports.exchange().giveBack(token);
        call.reply(tag, result);
        return;
      }
      Opened opened =
          new Opened(token, kind, call.context(), Memory.getLong(out), taken.lengthBytes());
      byToken.put(token, opened);
      byAddress.put(opened.address, opened);
      owned.add(opened.address, opened.lengthBytes);
      answer(tag, opened);
    } catch (NotSharedException e) {
      call.reply(tag, e.result());
    }
  }

  private void answer(int tag, Opened opened) {
    long out = call.out();
    Memory.putLong(out, opened.address);
    Memory.putLong(out + 8, opened.lengthBytes);
    call.reply(tag, 0, out, 16);
  }

  @Override
  public void memClose(int tag, long address) {
    Opened opened = byAddress.get(address);
    if (opened == null) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    int result = CudaResult.SUCCESS;
    if (--opened.times == 0) {
      byAddress.remove(address);
      owned.remove(address);
      result = blocking.call(() -> end(opened));
      forget(opened);
    }
    call.reply(tag, result);
  }

  private int end(Opened opened) {
    return opened.kind == Kind.MEMORY
        ? backend.cuIpcCloseMemHandle(opened.address)
        : backend.cuMemFree_v2(opened.address);
  }

  private void forget(Opened opened) {
    byToken.remove(opened.token);
    exports.exchange().giveBack(opened.token);
  }

  /** Forgets the things that were opened in a context that ends. */
  public void forget(ContextState context) {
    for (Iterator<Opened> all = byAddress.values().iterator(); all.hasNext(); ) {
      Opened opened = all.next();
      if (opened.context == context) {
        owned.remove(opened.address);
        int ignored = end(opened);
        all.remove();
        forget(opened);
      }
    }
  }

  @Override
  public void eventShare(
      int tag, int event, boolean word0, boolean word1, boolean word2, boolean word3) {
    long handle = handles.events().get(event);
    if (handle == SessionServices.NO_HANDLE) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    int gpu = ((ContextState) handles.events().ownerOf(event)).gpu;
    share(tag, Kind.EVENT, event, gpu, 0, out -> backend.cuIpcGetEventHandle(out, handle));
  }

  @Override
  public void eventOpen(int tag, long word0, long word1, long word2, long word3, int event) {
    int refused =
        call.context().exists() ? handles.events().check(event) : CudaResult.INVALID_CONTEXT;
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    Token token = new Token(word0, word1, word2, word3);
    try {
      Taken taken = exports.exchange().take(token, Kind.EVENT);
      long out = call.out();
      int result = withHandle(taken, in -> backend.cuIpcOpenEventHandle(out, in));
      if (result == 0) {
        handles.events().put(event, Memory.getLong(out), call.context());
      }
      // An event has no memory that somebody has to keep.
      exports.exchange().giveBack(token);
      call.reply(tag, result);
    } catch (NotSharedException e) {
      call.reply(tag, e.result());
    }
  }

  /** Gives a backend what another one wrote, with the descriptor as it is here. */
  private int withHandle(Taken taken, Maker user) {
    long in = call.in();
    Memory.clear(in, HANDLE_BYTES);
    Memory.put(in, taken.handle(), Math.min(taken.handle().length, HANDLE_BYTES));
    Integer descriptor = taken.descriptor();
    if (descriptor != null) {
      backend.setDescriptor(in, descriptor);
    }
    try {
      return user.make(in);
    } finally {
      taken.closeDescriptor();
    }
  }
}
