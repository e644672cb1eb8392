// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.assignment;

import io.gpupool.worker.os.CallFilter;
import io.gpupool.worker.os.UnixSocket;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;

/**
 * The walls around this process, as far as it knows of them: {@code gpupool-sandbox} has put up all
 * but the filter of system calls, and has connected to the pool-server, whose socket cannot be
 * reached from here. Any thread may call it.
 */
public final class Confinement {
  private static final String CONTROL = "GPUPOOL_CONTROL_FD";
  private static final String FILTER = "GPUPOOL_FILTER_FD";

  private final Optional<Integer> control;
  private Optional<Integer> filter;

  private Confinement(Optional<Integer> control, Optional<Integer> filter) {
    this.control = control;
    this.filter = filter;
  }

  /** Of a process with this environment; none where it was started without the launcher. */
  public static Confinement of(Map<String, String> environment) {
    return new Confinement(
        Optional.ofNullable(environment.get(CONTROL)).map(Integer::valueOf),
        Optional.ofNullable(environment.get(FILTER)).map(Integer::valueOf));
  }

  /** The connection to the pool-server: the one handed over, else a new one to this name. */
  public UnixSocket connect(String name) throws IOException {
    return control.isPresent() ? new UnixSocket(control.get()) : UnixSocket.connect(name);
  }

  /**
   * Puts up the last wall. Comes before anything is read that a program has sent; a second call
   * changes nothing.
   */
  public synchronized void complete() throws IOException {
    Optional<Integer> descriptor = filter;
    filter = Optional.empty();
    if (descriptor.isPresent()) {
      CallFilter.putUp(descriptor.get());
    }
  }
}
