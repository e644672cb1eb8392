// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.stream;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.BackendTraits;
import io.gpupool.cuda.CallbackOps;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTables;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * Host functions of the program: a stream that reaches one waits until the client says that it has
 * run. Streams call from threads of the backend.
 */
public final class HostCallbacks implements CallbackOps {
  /** Runs with the error as its status when the context has one. */
  public static final int KIND_STREAM_CALLBACK = 1;

  private static final int MAX_OUTSTANDING = 1 << 16;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final Answers answers;
  private final Waits waits;
  private final ExecutorService sender;

  /** The host functions that are queued or run, by the client's number. */
  private final Map<Integer, Call> calls = new ConcurrentHashMap<>();

  private @Nullable Arena stubArena;
  private long hostFunctionStub;
  private long streamCallbackStub;

  /** One host function. */
  private static final class Call {
    final ContextState context;

    @GuardedBy("this")
    private @Nullable Runnable done;

    @GuardedBy("this")
    private boolean ended;

    Call(ContextState context) {
      this.context = context;
    }

    /** Its turn has come; false if it was ended before that. */
    synchronized boolean start(Runnable whenDone) {
      done = whenDone;
      return !ended;
    }

    void end() {
      Runnable action;
      synchronized (this) {
        action = ended ? null : done;
        ended = true;
      }
      if (action != null) {
        action.run();
      }
    }
  }

  /**
   * Makes an empty set.
   *
   * @param sender one thread that sends the requests to the client
   */
  public HostCallbacks(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      Answers answers,
      Waits waits,
      ExecutorService sender) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.answers = answers;
    this.waits = waits;
    this.sender = sender;
  }

  /** Returns whether a stream waits for the client, or will. */
  public boolean anyOutstanding() {
    return !calls.isEmpty();
  }

  @Override
  public int streamHostFunction(int stream, int callback, int kind) {
    ContextState context = call.context();
    if (!context.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    long streamHandle = handles.stream(stream);
    if (streamHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    if (callback == 0) {
      return CudaResult.INVALID_VALUE;
    }
    if (calls.size() >= MAX_OUTSTANDING) {
      return CudaResult.OUT_OF_MEMORY;
    }
    // The stream may be of another context than the one that is current; it is let pass with its
    // own.
    Call call =
        new Call(handles.streams().owner(stream) instanceof ContextState owner ? owner : context);
    if (calls.putIfAbsent(callback, call) != null) {
      return CudaResult.INVALID_VALUE;
    }
    boolean evenAfterFault = kind == KIND_STREAM_CALLBACK;
    int result =
        backend.launchHostTask(
            streamHandle, evenAfterFault, (status, done) -> begin(callback, call, status, done));
    if (result == BackendTraits.NATIVE_HOST_FUNCTIONS) {
      makeStubs();
      result =
          evenAfterFault
              ? backend.cuStreamAddCallback(streamHandle, streamCallbackStub, callback, 0)
              : backend.cuLaunchHostFunc(streamHandle, hostFunctionStub, callback);
    }
    if (result != 0) {
      calls.remove(callback);
    }
    return result;
  }

  /** The client has run a host function; 0 stands for one that was looked after before its turn. */
  @Override
  public int callbackDone(int callback) {
    if (callback == 0) {
      return CudaResult.SUCCESS;
    }
    Call call = calls.remove(callback);
    if (call == null) {
      return CudaResult.INVALID_VALUE;
    }
    call.end();
    return CudaResult.SUCCESS;
  }

  /** Lets the streams of a context that is going down pass; all streams, when it is null. */
  public void cancel(@Nullable ContextState context) {
    calls.forEach((number, call) -> {
      if (context == null || call.context == context) {
        calls.remove(number);
        call.end();
      }
    });
  }

  private void begin(int callback, Call call, int status, Runnable done) {
    if (!call.start(done)) {
      done.run();
      return;
    }
    if (calls.get(callback) != call) {
      call.end();
      return;
    }
    sender.execute(() -> {
      if (calls.get(callback) == call) {
        backend.cuCtxSetCurrent(call.context.handle);
      }
      answers.lock();
      try {
        // The program's function may read what copies before it have brought.
        waits.completeCopies(call.context);
        answers.callback(callback, status);
        answers.flush();
      } finally {
        answers.unlock();
      }
    });
  }

  // The driver calls it through a stub that is bound by name, and no exception may leave it, which
  // would end the process.
  @SuppressWarnings("UnusedMethod")
  private void hostFunction(long userData) {
    streamCallback(0, 0, userData);
  }

  private void streamCallback(long stream, int status, long userData) {
    try {
      int callback = (int) userData;
      Call call = calls.get(callback);
      if (call != null) {
        CountDownLatch done = new CountDownLatch(1);
        begin(callback, call, status, done::countDown);
        done.await();
      }
    } catch (Throwable e) {
      System.err.println("gpupool worker: host function failed: " + e);
    }
  }

  private void makeStubs() {
    if (stubArena != null) {
      return;
    }
    // Never freed: the driver may call as long as the process lives.
    Arena arena = Arena.global();
    stubArena = arena;
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      MethodHandle hostFunction =
          lookup.bind(this, "hostFunction", MethodType.methodType(void.class, long.class));
      MethodHandle streamCallback =
          lookup.bind(
              this,
              "streamCallback",
              MethodType.methodType(void.class, long.class, int.class, long.class));
      Linker linker = Linker.nativeLinker();
      hostFunctionStub =
          linker.upcallStub(hostFunction, FunctionDescriptor.ofVoid(JAVA_LONG), arena).address();
      streamCallbackStub =
          linker
              .upcallStub(
                  streamCallback, FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG), arena)
              .address();
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }
}
