// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.ContextOps;
import io.gpupool.worker.os.Memory;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongToIntFunction;

/** The contexts of the client, and which one is current. Used by the session's thread alone. */
final class Contexts implements ContextOps {
  /** Told when a context goes down, before the backend takes it. */
  interface Listener {
    void ending(ContextState context);
  }

  private final SessionState state;
  private final List<Integer> devices;
  private final BlockingCalls blocking;
  private final ReleaseLimit limit;
  private final Listener listener;
  private ContextState[] byNumber = new ContextState[32];
  private int currentNumber;

  /** What is current in the backend; calls without a context leave it as it is. */
  private long backendHandle;

  /**
   * Starts with none.
   *
   * @param devices the backend's CUdevice of each GPU of the lease
   */
  Contexts(
      SessionState state,
      List<Integer> devices,
      BlockingCalls blocking,
      ReleaseLimit limit,
      Listener listener) {
    this.state = state;
    this.devices = devices;
    this.blocking = blocking;
    this.limit = limit;
    this.listener = listener;
  }

  int currentNumber() {
    return currentNumber;
  }

  /** The context of a client's number; one that does not exist if there is none. */
  ContextState find(int number) {
    ContextState context = number >= 0 && number < byNumber.length ? byNumber[number] : null;
    return context == null ? state.noContext : context;
  }

  /** Makes the context of a frame current. */
  void select(int number) {
    currentNumber = number;
    state.current = find(number);
    if (number != 0 && state.current.handle != backendHandle) {
      backendHandle = state.current.handle;
      state.backend.cuCtxSetCurrent(backendHandle);
    }
  }

  /** Sets a limit; a heap that the lease has no room for leaves it as it was. */
  @Override
  public void ctxSetLimit(int tag, int limit, long value) {
    long out = state.out();
    int known = state.backend.cuCtxGetLimit(out, limit);
    long before = Memory.getLong(out);
    int result = state.backend.cuCtxSetLimit(limit, value);
    if (result == 0 && !hasRoomForHeap()) {
      if (known == 0) {
        state.backend.cuCtxSetLimit(limit, before);
      }
      result = CudaResult.OUT_OF_MEMORY;
    }
    state.reply(tag, result);
  }

  private boolean hasRoomForHeap() {
    return !state.current.exists()
        || state.current.countHeap(state.quota, state.backend.heapBytes())
            && state.quota.measure(state.current.gpu);
  }

  @Override
  public void ctxGetLimit(int tag, int limit, boolean valueWanted) {
    long out = state.out();
    state.reply(tag, state.backend.cuCtxGetLimit(out, limit), out, valueWanted ? 8 : 0);
  }

  @Override
  public void ctxRetainPrimary(int tag, int gpu, int flags) {
    int refused = checkMake(gpu);
    ContextState known = refused == 0 ? state.current : state.noContext;
    if (known.exists() && (!known.primary || known.gpu != gpu)) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    int device = devices.get(gpu);
    if (!known.exists() && flags != 0) {
      // An older driver than 7.0 would lack it; then the flags are the driver's own.
      state.backend.cuDevicePrimaryCtxSetFlags_v2(device, flags);
    }
    if (known.exists()) {
      int result = state.backend.cuDevicePrimaryCtxRetain(state.out(), device);
      known.retains += result == 0 ? 1 : 0;
      state.reply(tag, result);
      return;
    }
    state.reply(
        tag,
        make(
            gpu,
            true,
            out -> state.backend.cuDevicePrimaryCtxRetain(out, device),
            made -> state.backend.cuDevicePrimaryCtxRelease_v2(device)));
  }

  @Override
  public int ctxReleasePrimary(int gpu) {
    ContextState context = primary(gpu);
    if (context == null) {
      return CudaResult.INVALID_CONTEXT;
    }
    return limit.call(
        context,
        () -> {
          boolean isLast = context.retains == 1;
          if (isLast) {
            end(context);
          } else {
            context.retains--;
          }
          int result =
              blocking.call(() -> state.backend.cuDevicePrimaryCtxRelease_v2(context.device));
          if (isLast) {
            state.quota.contextEnded(context.gpu);
          }
          return result;
        });
  }

  @Override
  public void ctxResetPrimary(int tag, int gpu) {
    ContextState context = primary(gpu);
    if (context == null) {
      state.answers.reply(tag, gpu >= 0 && gpu < devices.size() ? 0 : CudaResult.INVALID_DEVICE);
      return;
    }
    ContextState fresh =
        new ContextState(state.backend, context.number, gpu, context.device, context.handle, true);
    fresh.retains = context.retains;
    int result =
        limit.call(
            context,
            () -> {
              end(context);
              return blocking.call(() -> state.backend.cuDevicePrimaryCtxReset_v2(context.device));
            });
    byNumber[context.number] = fresh;
    if (CudaResult.isSticky(result)) {
      // The driver goes on in this process with the error, as it would in the program's own.
      fresh.report(result);
    }
    select(currentNumber);
    state.answers.reply(tag, result);
  }

  @Override
  public void ctxCreate(int tag, int gpu, int flags) {
    int refused = checkMake(gpu);
    if (refused == 0 && state.current.exists()) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    int device = devices.get(gpu);
    state.reply(
        tag,
        make(
            gpu,
            false,
            out -> state.backend.cuCtxCreate_v2(out, flags, device),
            state.backend::cuCtxDestroy_v2));
  }

  /** Makes a context, if the lease has room for what it takes by itself. */
  private int make(int gpu, boolean primary, LongToIntFunction making, LongToIntFunction ending) {
    if (!state.quota.reserveContext(gpu)) {
      return CudaResult.OUT_OF_MEMORY;
    }
    long out = state.out();
    int result = making.applyAsInt(out);
    long handle = Memory.getLong(out);
    if (result == 0 && !state.quota.measure(gpu)) {
      int ignored = ending.applyAsInt(handle);
      result = CudaResult.OUT_OF_MEMORY;
    }
    if (result == 0) {
      put(handle, gpu, devices.get(gpu), primary);
    } else {
      state.quota.contextEnded(gpu);
    }
    return result;
  }

  @Override
  public int ctxDestroy() {
    ContextState context = state.current;
    if (!context.exists() || context.primary || context.isGreen()) {
      return CudaResult.INVALID_CONTEXT;
    }
    return limit.call(
        context,
        () -> {
          end(context);
          int result = blocking.call(() -> state.backend.cuCtxDestroy_v2(context.handle));
          state.quota.contextEnded(context.gpu);
          return result;
        });
  }

  /** Makes the frame's context, a green one of a GPU's primary context. */
  int createGreen(int gpu, long descriptor, int flags) {
    int refused = checkMake(gpu);
    ContextState home = refused == 0 ? primary(gpu) : null;
    if (home == null || state.current.exists()) {
      return refused == 0 ? CudaResult.INVALID_VALUE : refused;
    }
    long out = state.out();
    int result = state.backend.cuGreenCtxCreate(out, descriptor, home.device, flags);
    if (result != 0) {
      return result;
    }
    long green = Memory.getLong(out);
    result = state.backend.cuCtxFromGreenCtx(out, green);
    if (result != 0) {
      state.backend.cuGreenCtxDestroy(green);
      return result;
    }
    ContextState made =
        new ContextState(state.backend, currentNumber, home, Memory.getLong(out), green);
    home.greens.add(made);
    put(made);
    return CudaResult.SUCCESS;
  }

  /** Ends the frame's context, a green one. */
  int destroyGreen() {
    ContextState context = state.current;
    if (!context.isGreen()) {
      return CudaResult.INVALID_CONTEXT;
    }
    end(context);
    return blocking.call(() -> state.backend.cuGreenCtxDestroy(context.green));
  }

  private int checkMake(int gpu) {
    if (gpu < 0 || gpu >= devices.size()) {
      return CudaResult.INVALID_DEVICE;
    }
    return currentNumber == 0 ? CudaResult.INVALID_VALUE : CudaResult.SUCCESS;
  }

  private void put(long handle, int gpu, int device, boolean primary) {
    put(new ContextState(state.backend, currentNumber, gpu, device, handle, primary));
  }

  private void put(ContextState context) {
    if (currentNumber >= byNumber.length) {
      byNumber = Arrays.copyOf(byNumber, Math.max(currentNumber + 1, byNumber.length * 2));
    }
    byNumber[currentNumber] = context;
    // Creating may have made it current already, or not.
    backendHandle = 0;
    select(currentNumber);
  }

  private ContextState primary(int gpu) {
    for (ContextState context : byNumber) {
      if (context != null && context.primary && context.gpu == gpu) {
        return context;
      }
    }
    return null;
  }

  /**
   * Lets go of all that the session keeps in a context, and of the green ones that are part of it.
   */
  private void end(ContextState context) {
    for (ContextState green : List.copyOf(context.greens)) {
      end(green);
      blocking.call(() -> state.backend.cuGreenCtxDestroy(green.green));
    }
    context.home.greens.remove(context);
    state.backend.cuCtxSetCurrent(context.handle);
    listener.ending(context);
    byNumber[context.number] = null;
    state.backend.cuCtxSetCurrent(0);
    backendHandle = 0;
    select(currentNumber);
  }
}
