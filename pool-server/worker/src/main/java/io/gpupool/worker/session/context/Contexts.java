// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.context;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.ContextOps;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.quota.MemoryQuota;
import io.gpupool.worker.session.stream.BlockingCalls;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongToIntFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The contexts of the client, and which one is current. Used by the session's thread alone. */
public final class Contexts implements ContextOps {
  /** Told when a context goes down, before the backend takes it. */
  public interface Listener {
    void ending(ContextState context);

    /** The number of the context stands for nothing any more. */
    void ended(ContextState context);
  }

  private final Backend backend;
  private final CurrentCall call;
  private final Answers answers;
  private final MemoryQuota quota;
  private final List<Integer> devices;
  private final BlockingCalls blocking;
  private final ReleaseLimit limit;
  private final Listener listener;
  private @Nullable ContextState[] byNumber = new ContextState[32];
  private int currentNumber;

  /** The current context of the backend; calls without a context leave it as it is. */
  private long backendHandle;

  /**
   * Starts with none.
   *
   * @param devices the backend's CUdevice of each GPU of the lease
   */
  public Contexts(
      Backend backend,
      CurrentCall call,
      Answers answers,
      MemoryQuota quota,
      List<Integer> devices,
      BlockingCalls blocking,
      ReleaseLimit limit,
      Listener listener) {
    this.backend = backend;
    this.call = call;
    this.answers = answers;
    this.quota = quota;
    this.devices = devices;
    this.blocking = blocking;
    this.limit = limit;
    this.listener = listener;
  }

  public int currentNumber() {
    return currentNumber;
  }

  /** The context of a client's number; one that does not exist if there is none. */
  public ContextState find(int number) {
    ContextState context = number >= 0 && number < byNumber.length ? byNumber[number] : null;
    return context == null ? call.noContext() : context;
  }

  /** Makes the context of a frame current. */
  public void select(int number) {
    currentNumber = number;
    call.select(find(number));
    if (number != 0 && call.context().handle != backendHandle) {
      backendHandle = call.context().handle;
      backend.cuCtxSetCurrent(backendHandle);
    }
  }

  /** Sets a limit; a heap that the lease has no room for leaves it as it was. */
  @Override
  public void ctxSetLimit(int tag, int limit, long value) {
    long out = call.out();
    int known = backend.cuCtxGetLimit(out, limit);
    long before = Memory.getLong(out);
    int result = backend.cuCtxSetLimit(limit, value);
    if (result == 0 && !hasRoomForHeap()) {
      if (known == 0) {
        backend.cuCtxSetLimit(limit, before);
      }
      result = CudaResult.OUT_OF_MEMORY;
    }
    call.reply(tag, result);
  }

  private boolean hasRoomForHeap() {
    return !call.context().exists()
        || quota.countHeap(call.context(), backend.heapBytes())
            && quota.measure(call.context().gpu);
  }

  @Override
  public void ctxGetLimit(int tag, int limit, boolean valueWanted) {
    long out = call.out();
    call.reply(tag, backend.cuCtxGetLimit(out, limit), out, valueWanted ? 8 : 0);
  }

  @Override
  public void ctxRetainPrimary(int tag, int gpu, int flags) {
    int refused = checkMake(gpu);
    ContextState known = refused == 0 ? call.context() : call.noContext();
    if (known.exists() && (!known.primary || known.gpu != gpu)) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    int device = devices.get(gpu);
    if (!known.exists() && flags != 0) {
      // An older driver than 7.0 would lack it; then the flags are the driver's own.
      backend.cuDevicePrimaryCtxSetFlags_v2(device, flags);
    }
    if (known.exists()) {
      int result = backend.cuDevicePrimaryCtxRetain(call.out(), device);
      known.setRetains(known.retains() + (result == 0 ? 1 : 0));
      call.reply(tag, result);
      return;
    }
    call.reply(
        tag,
        make(
            gpu,
            true,
            out -> backend.cuDevicePrimaryCtxRetain(out, device),
            made -> backend.cuDevicePrimaryCtxRelease_v2(device)));
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
          boolean isLast = context.retains() == 1;
          if (isLast) {
            end(context);
          } else {
            context.setRetains(context.retains() - 1);
          }
          int result = blocking.call(() -> backend.cuDevicePrimaryCtxRelease_v2(context.device));
          if (isLast) {
            quota.contextEnded(context.gpu);
            listener.ended(context);
          }
          return result;
        });
  }

  @Override
  public void ctxResetPrimary(int tag, int gpu) {
    ContextState context = primary(gpu);
    if (context == null) {
      answers.reply(tag, gpu >= 0 && gpu < devices.size() ? 0 : CudaResult.INVALID_DEVICE);
      return;
    }
    ContextState fresh =
        new ContextState(backend, context.number, gpu, context.device, context.handle, true);
    fresh.setRetains(context.retains());
    int result =
        limit.call(
            context,
            () -> {
              end(context);
              return blocking.call(() -> backend.cuDevicePrimaryCtxReset_v2(context.device));
            });
    byNumber[context.number] = fresh;
    if (CudaResult.isSticky(result)) {
      // The driver goes on in this process with the error, as it would in the program's own.
      fresh.report(result);
    }
    select(currentNumber);
    answers.reply(tag, result);
  }

  @Override
  public void ctxCreate(int tag, int gpu, int flags) {
    int refused = checkMake(gpu);
    if (refused == 0 && call.context().exists()) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    int device = devices.get(gpu);
    call.reply(
        tag,
        make(
            gpu,
            false,
            out -> backend.cuCtxCreate_v2(out, flags, device),
            backend::cuCtxDestroy_v2));
  }

  /** Makes a context, if the lease has room for what it takes by itself. */
  private int make(int gpu, boolean primary, LongToIntFunction making, LongToIntFunction ending) {
    if (!quota.reserveContext(gpu)) {
      return CudaResult.OUT_OF_MEMORY;
    }
    long out = call.out();
    int result = making.applyAsInt(out);
    long handle = Memory.getLong(out);
    if (result == 0 && !quota.measure(gpu)) {
      int ignored = ending.applyAsInt(handle);
      result = CudaResult.OUT_OF_MEMORY;
    }
    if (result == 0) {
      put(handle, gpu, devices.get(gpu), primary);
    } else {
      quota.contextEnded(gpu);
    }
    return result;
  }

  @Override
  public int ctxDestroy() {
    ContextState context = call.context();
    if (!context.exists() || context.primary || context.isGreen()) {
      return CudaResult.INVALID_CONTEXT;
    }
    return limit.call(
        context,
        () -> {
          end(context);
          int result = blocking.call(() -> backend.cuCtxDestroy_v2(context.handle));
          quota.contextEnded(context.gpu);
          listener.ended(context);
          return result;
        });
  }

  /** Makes the frame's context, a green one of a GPU's primary context. */
  int createGreen(int gpu, long descriptor, int flags) {
    int refused = checkMake(gpu);
    ContextState home = refused == 0 ? primary(gpu) : null;
    if (home == null || call.context().exists()) {
      return refused == 0 ? CudaResult.INVALID_VALUE : refused;
    }
    long out = call.out();
    int result = backend.cuGreenCtxCreate(out, descriptor, home.device, flags);
    if (result != 0) {
      return result;
    }
    long green = Memory.getLong(out);
    result = backend.cuCtxFromGreenCtx(out, green);
    if (result != 0) {
      backend.cuGreenCtxDestroy(green);
      return result;
    }
    ContextState made = new ContextState(backend, currentNumber, home, Memory.getLong(out), green);
    home.greens.add(made);
    put(made);
    return CudaResult.SUCCESS;
  }

  /** Ends the frame's context, a green one. */
  int destroyGreen() {
    ContextState context = call.context();
    if (!context.isGreen()) {
      return CudaResult.INVALID_CONTEXT;
    }
    end(context);
    listener.ended(context);
    return blocking.call(() -> backend.cuGreenCtxDestroy(context.green));
  }

  private int checkMake(int gpu) {
    if (gpu < 0 || gpu >= devices.size()) {
      return CudaResult.INVALID_DEVICE;
    }
    return currentNumber == 0 ? CudaResult.INVALID_VALUE : CudaResult.SUCCESS;
  }

  private void put(long handle, int gpu, int device, boolean primary) {
    put(new ContextState(backend, currentNumber, gpu, device, handle, primary));
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

  /** Returns all contexts, by number. */
  public List<ContextState> all() {
    return Arrays.stream(byNumber).flatMap(Stream::ofNullable).toList();
  }

  private @Nullable ContextState primary(int gpu) {
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
      listener.ended(green);
      blocking.call(() -> backend.cuGreenCtxDestroy(green.green));
    }
    context.home.greens.remove(context);
    backend.cuCtxSetCurrent(context.handle);
    listener.ending(context);
    byNumber[context.number] = null;
    backend.cuCtxSetCurrent(0);
    backendHandle = 0;
    select(currentNumber);
  }
}
