// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTables;
import java.util.HashMap;
import java.util.Map;

/** The end of frees that are put into streams. Used by the session's thread alone. */
public final class StreamFrees {
  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final Answers answers;
  private final Waits waits;
  private final Map<Place, FreesWait> byStream = new HashMap<>();

  /** A stream: the default one is another in each context. */
  private record Place(ContextState context, long handle) {}

  public StreamFrees(
      Backend backend, CurrentCall call, HandleTables handles, Answers answers, Waits waits) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.answers = answers;
    this.waits = waits;
  }

  /**
   * Has an action run, by any thread, when a stream has come to a free that was just put into it.
   *
   * @param stream the client's number
   */
  public void whenDone(int stream, Runnable gone) {
    long handle = handles.stream(stream);
    if (backend.afterStream(handle, gone)) {
      return;
    }
    ContextState context =
        handles.streams().owner(stream) instanceof ContextState owner ? owner : call.context();
    boolean foreign = context.handle != call.context().handle;
    if (foreign) {
      backend.cuCtxSetCurrent(context.handle);
    }
    long event = context.events.take();
    int result = event > 0 ? backend.cuEventRecord(event, handle) : (int) -event;
    if (foreign) {
      backend.cuCtxSetCurrent(call.context().handle);
    }
    // Without an event nobody knows when the memory is gone: it counts as long as the session.
    if (result == 0) {
      add(new Place(context, handle), event, gone);
    }
  }

  private void add(Place place, long event, Runnable gone) {
    answers.lock();
    try {
      FreesWait wait = byStream.get(place);
      if (wait == null || wait.finished) {
        byStream.values().removeIf(other -> other.finished);
        wait = new FreesWait(place.context, backend);
        byStream.put(place, wait);
        wait.add(event, gone);
        waits.add(wait);
      } else {
        wait.add(event, gone);
      }
    } finally {
      answers.unlock();
    }
  }
}
