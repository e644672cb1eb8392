// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.worker.os.Posix;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The outlets of a rank whose sockets have not taken all that was handed over. The rank's thread
 * sends the rest while it waits for a socket, which costs less than another thread's waking up; it
 * leaves the rest to other threads before it waits for anything else. Used by that thread.
 */
public final class PendingSends {
  private final List<SocketOutlet> outlets = new ArrayList<>();
  private final SocketWait wait = new SocketWait();

  /** Adds an outlet, if it is not there yet. */
  void add(SocketOutlet outlet) {
    if (!outlets.contains(outlet)) {
      outlets.add(outlet);
    }
  }

  /** Sends what the sockets take; returns whether that was anything. */
  boolean advance() throws ChannelException {
    boolean advanced = false;
    for (int i = outlets.size() - 1; i >= 0; i--) {
      SocketOutlet outlet = outlets.get(i);
      advanced |= outlet.advance();
      if (!outlet.isPending()) {
        outlets.remove(i);
      }
    }
    return advanced;
  }

  /** Waits until something was sent, or a socket can perhaps be read. */
  void await(@Nullable ConnectedSocket source) throws ChannelException {
    boolean advanced = advance();
    // What was pending may have been sent with what was handed over after it.
    if (advanced || (source == null && outlets.isEmpty())) {
      return;
    }
    if (source != null) {
      wait.add(source, Posix.POLLIN);
    }
    for (SocketOutlet outlet : outlets) {
      wait.add(outlet.socket(), Posix.POLLOUT);
    }
    wait.await();
  }

  /** Sends everything. */
  void flush() throws ChannelException {
    while (!outlets.isEmpty()) {
      await(null);
    }
  }

  /** Has other threads send the rest. */
  public void leave() {
    outlets.forEach(SocketOutlet::leave);
    outlets.clear();
  }
}
