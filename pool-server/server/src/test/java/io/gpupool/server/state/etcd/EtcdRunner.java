// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;

/**
 * A way to run members of an etcd: as processes of this machine, unless the tests' class path has
 * another one that can be used.
 */
public interface EtcdRunner {
  /** Why it cannot be used here; empty: it can. */
  Optional<String> obstacle();

  /**
   * Starts a member on the network of this machine.
   *
   * @param folder of the member's own: all that it writes goes there, {@code log} among it
   */
  Member start(Path folder, List<String> options) throws IOException;

  /** A member that was started. */
  interface Member {
    boolean isAlive();

    /** Ends it as a crash would, and waits until it has ended. */
    void kill() throws InterruptedException;

    /** Stops it where it is, or lets it go on. */
    void freeze(boolean frozen) throws Exception;
  }

  /** The one that tests use. */
  static EtcdRunner any() {
    return ServiceLoader.load(EtcdRunner.class).stream()
        .map(ServiceLoader.Provider::get)
        .filter(runner -> runner.obstacle().isEmpty())
        .findFirst()
        .orElseGet(LocalEtcd::new);
  }
}
