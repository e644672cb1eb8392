// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.assignment;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.CallFilter;
import io.gpupool.worker.os.ListeningSocket;
import io.gpupool.worker.os.UnixSocket;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The walls around this process, as far as it knows of them: {@code gpupool-sandbox} has put up all
 * but the filter of system calls, and has connected to the pool-server, whose socket cannot be
 * reached from here. Any thread may call it.
 */
public final class Confinement {
  private static final String CONTROL = "GPUPOOL_CONTROL_FD";
  private static final String LISTEN = "GPUPOOL_LISTEN_FD";
  private static final String FILTER = "GPUPOOL_FILTER_FD";

  private final @Nullable Integer control;
  private final @Nullable Integer listening;

  /** The descriptor of the filter that is yet to be put up. */
  @GuardedBy("this")
  private @Nullable Integer filter;

  private Confinement(
      @Nullable Integer control, @Nullable Integer listening, @Nullable Integer filter) {
    this.control = control;
    this.listening = listening;
    this.filter = filter;
  }

  /** Reads the environment of a process; one started without the launcher is not confined. */
  public static Confinement of(Map<String, String> environment) {
    return new Confinement(
        descriptor(environment.get(CONTROL)),
        descriptor(environment.get(LISTEN)),
        descriptor(environment.get(FILTER)));
  }

  private static @Nullable Integer descriptor(@Nullable String text) {
    return text == null ? null : Integer.valueOf(text);
  }

  /** Returns the connection to the pool-server that was handed over, else a new one to a name. */
  public UnixSocket connect(String name) throws IOException {
    return control == null ? UnixSocket.connect(name) : new UnixSocket(control);
  }

  /**
   * Returns the listening socket that was handed over, else a new one at a path; none without
   * either.
   */
  public Optional<ListeningSocket> listen(@Nullable String path) throws IOException {
    if (listening != null) {
      return Optional.of(new ListeningSocket(listening));
    }
    return path == null ? Optional.empty() : Optional.of(ListeningSocket.bind(path));
  }

  /**
   * Puts up the last wall. Comes before anything is read that a program has sent; a second call
   * changes nothing.
   */
  public synchronized void complete() throws IOException {
    Integer descriptor = filter;
    filter = null;
    if (descriptor != null) {
      CallFilter.putUp(descriptor);
    }
  }
}
