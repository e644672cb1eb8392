// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import java.util.HashMap;
import java.util.Map;

/** The end of frees that are put into streams. Used by the session's thread alone. */
final class StreamFrees {
  private final SessionState state;
  private final Map<Place, FreesWait> waits = new HashMap<>();

  /** A stream: the default one is another in each context. */
  private record Place(ContextState context, long handle) {}

  StreamFrees(SessionState state) {
    this.state = state;
  }

  /**
   * Has an action run, by any thread, when a stream has come to a free that was just put into it.
   *
   * @param stream the client's number
   */
  void whenDone(int stream, Runnable gone) {
    long handle = state.stream(stream);
    if (state.backend.afterStream(handle, gone)) {
      return;
    }
    ContextState context =
        state.streams.owner(stream) instanceof ContextState owner ? owner : state.current;
    boolean foreign = context.handle != state.current.handle;
    if (foreign) {
      state.backend.cuCtxSetCurrent(context.handle);
    }
    long event = context.events.take();
    int result = event > 0 ? state.backend.cuEventRecord(event, handle) : (int) -event;
    if (foreign) {
      state.backend.cuCtxSetCurrent(state.current.handle);
    }
    // Without an event nobody knows when the memory is gone: it counts as long as the session.
    if (result == 0) {
      add(new Place(context, handle), event, gone);
    }
  }

  private void add(Place place, long event, Runnable gone) {
    state.answers.lock();
    try {
      FreesWait wait = waits.get(place);
      if (wait == null || wait.finished) {
        waits.values().removeIf(other -> other.finished);
        wait = new FreesWait(place.context, state.backend);
        waits.put(place, wait);
        wait.add(event, gone);
        state.waits.add(wait);
      } else {
        wait.add(event, gone);
      }
    } finally {
      state.answers.unlock();
    }
  }
}
