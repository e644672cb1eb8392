// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.memory;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.PoolOps;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.HandleTable;
import io.gpupool.worker.session.exchange.Exchange;
import io.gpupool.worker.session.exchange.Exports;
import io.gpupool.worker.session.exchange.NotSharedException;
import io.gpupool.worker.session.exchange.Token;
import io.gpupool.worker.session.quota.MemoryQuota;
import io.gpupool.worker.session.quota.PoolMemory;
import java.util.Arrays;
import java.util.List;

/** The memory pools of the session. Used by the session's thread alone. */
public final class MemoryPools implements PoolOps {
  /*
   * CUmemPoolProps, 88 bytes: i32 allocation type, i32 handle types, i32 location type, i32 location,
   * u64 security attributes, u64 most bytes, u16 usage, reserved.
   */
  private static final int PROPS_BYTES = 88;
  private static final int PROPS_HANDLE_TYPES = 4;
  private static final int PROPS_LOCATION_TYPE = 8;
  private static final int PROPS_LOCATION = 12;
  private static final int PROPS_MAX_BYTES = 24;
  private static final int PINNED = 1;
  private static final int LOCATION_DEVICE = 1;

  /** Client's numbers from here on are those of pools that it made. */
  private static final int FIRST_MADE = 1024;

  private final Backend backend;
  private final CurrentCall call;
  private final MemoryQuota quota;
  private final Exports exports;
  private final List<Integer> devices;
  private final HandleTable made = new HandleTable();

  /** The backend's handles, by GPU, once asked for. */
  private final long[] defaultPools;

  /** The counted memory of pools, by GPU. */
  private final PoolMemory[] memory;

  public MemoryPools(
      Backend backend,
      CurrentCall call,
      MemoryQuota quota,
      Exports exports,
      List<Integer> devices) {
    this.backend = backend;
    this.call = call;
    this.quota = quota;
    this.exports = exports;
    this.devices = devices;
    defaultPools = new long[devices.size()];
    memory = new PoolMemory[devices.size()];
    Arrays.setAll(memory, gpu -> new PoolMemory(backend, quota, gpu));
    quota.reclaimBy(gpu -> memory[gpu].trim());
  }

  /** Returns the counted memory of the pools of a GPU. */
  PoolMemory memory(int gpu) {
    return memory[gpu];
  }

  @Override
  public void poolCreate(int tag, int pool, int gpu, long maxBytes, int shareable) {
    int refused = pool < FIRST_MADE ? CudaResult.INVALID_VALUE : made.check(pool);
    boolean sound = gpu >= 0 && gpu < devices.size() && Exports.isHandleType(shareable);
    if (refused == 0 && !sound) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    long props = call.in();
    Memory.clear(props, PROPS_BYTES);
    Memory.putInt(props, PINNED);
    Memory.putInt(props + PROPS_HANDLE_TYPES, shareable);
    Memory.putInt(props + PROPS_LOCATION_TYPE, LOCATION_DEVICE);
    Memory.putInt(props + PROPS_LOCATION, devices.get(gpu));
    Memory.putLong(props + PROPS_MAX_BYTES, maxBytes);
    long out = call.out();
    int result = backend.cuMemPoolCreate(out, props);
    if (result == 0) {
      made.put(pool, Memory.getLong(out), gpu);
      memory[gpu].add(Memory.getLong(out));
    }
    call.reply(tag, result);
  }

  @Override
  public int poolDestroy(int pool) {
    long handle = made.get(pool);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    memory[gpu(pool)].remove(handle);
    made.remove(pool);
    exports.withdraw(Exchange.Kind.POOL, pool, () -> {});
    return backend.cuMemPoolDestroy(handle);
  }

  @Override
  public int poolSetAccess(int pool, int gpu, int flags) {
    long handle = handle(pool);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    if (gpu < 0 || gpu >= devices.size()) {
      return CudaResult.INVALID_VALUE;
    }
    long access = call.in();
    Memory.putInt(access, LOCATION_DEVICE);
    Memory.putInt(access + 4, devices.get(gpu));
    Memory.putInt(access + 8, flags);
    return backend.cuMemPoolSetAccess(handle, access, 1);
  }

  @Override
  public void poolGetAttribute(int tag, int pool, int attribute, boolean wanted) {
    long handle = handle(pool);
    if (handle == SessionServices.NO_HANDLE) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    long out = call.out();
    int result = backend.cuMemPoolGetAttribute(handle, attribute, out);
    call.reply(tag, result, out, wanted ? 8 : 0);
  }

  @Override
  public int poolSetAttribute(int pool, int attribute, long value) {
    long handle = handle(pool);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    Memory.putLong(call.in(), value);
    return backend.cuMemPoolSetAttribute(handle, attribute, call.in());
  }

  @Override
  public void poolShare(
      int tag, int pool, boolean word0, boolean word1, boolean word2, boolean word3) {
    long handle = made.get(pool);
    if (handle == SessionServices.NO_HANDLE) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long out = call.out();
    try {
      Token token = exports.token(Exchange.Kind.POOL, pool).orElse(null);
      if (token == null) {
        int result = backend.cuMemPoolExportToShareableHandle(out, handle, Exports.DESCRIPTOR, 0);
        if (result != 0) {
          call.reply(tag, result);
          return;
        }
        token = exports.addFile(Exchange.Kind.POOL, pool, gpu(pool), 0, Memory.getInt(out));
      }
      call.reply(tag, 0, out, Exports.put(out, token));
    } catch (NotSharedException e) {
      call.reply(tag, e.result());
    }
  }

  @Override
  public void poolOpen(
      int tag, long word0, long word1, long word2, long word3, int pool, boolean deviceWanted) {
    int refused = pool < FIRST_MADE ? CudaResult.INVALID_VALUE : made.check(pool);
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    Token token = new Token(word0, word1, word2, word3);
    try {
      Exchange.Taken taken = exports.exchange().take(token, Exchange.Kind.POOL);
      // What is in the pool is opened, and given back, piece by piece.
      exports.exchange().giveBack(token);
      long out = call.out();
      int result =
          backend.cuMemPoolImportFromShareableHandle(
              out, taken.descriptorOrNone(), Exports.DESCRIPTOR, 0);
      taken.closeDescriptor();
      if (result == 0) {
        made.put(pool, Memory.getLong(out), taken.gpu());
        Memory.putLong(out, taken.gpu());
      }
      call.reply(tag, result, out, Long.BYTES);
    } catch (NotSharedException e) {
      call.reply(tag, e.result());
    }
  }

  /** The backend's handle of a client's number. */
  public long handle(int pool) {
    if (pool >= FIRST_MADE) {
      return made.get(pool);
    }
    int gpu = gpu(pool);
    if (gpu < 0 || gpu >= defaultPools.length) {
      return SessionServices.NO_HANDLE;
    }
    if (defaultPools[gpu] == 0) {
      long out = call.out();
      if (backend.cuDeviceGetDefaultMemPool(out, devices.get(gpu)) == 0) {
        defaultPools[gpu] = Memory.getLong(out);
        memory[gpu].add(defaultPools[gpu]);
      }
    }
    return defaultPools[gpu] == 0 ? SessionServices.NO_HANDLE : defaultPools[gpu];
  }

  /**
   * The GPU whose memory a pool gives: 0 is the default pool of the current one, n of GPU n - 1.
   */
  int gpu(int pool) {
    if (pool >= FIRST_MADE) {
      return made.owner(pool) instanceof Integer gpu ? gpu : -1;
    }
    return pool == 0 ? call.context().gpu : pool - 1;
  }
}
