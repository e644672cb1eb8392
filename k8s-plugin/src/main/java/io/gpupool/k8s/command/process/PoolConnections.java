// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.process;

import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolChannels;
import io.gpupool.client.connection.TokenFile;
import io.gpupool.runtime.StateChangeLogger;
import io.grpc.ManagedChannel;
import io.netty.channel.EventLoopGroup;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A factory of this process's connections to the pool. For any thread.
 *
 * @param token null: calls show none
 */
public record PoolConnections(
    PoolAddress address, @Nullable TokenFile token, ClientSecurity security, EventLoopGroup loops) {
  private static final Logger LOG = LoggerFactory.getLogger(PoolConnections.class);
  private static final long LOOK_MILLIS = 1000;

  /**
   * Opens another connection, which its user closes.
   *
   * @throws IllegalArgumentException if the file of roots is not there, or not yet
   */
  public ManagedChannel open() {
    return PoolChannels.open(address, token, security, loops);
  }

  /**
   * Waits for the file of roots, which the controller makes when a release is new, and opens a
   * connection.
   */
  public ManagedChannel openWhenThere() throws InterruptedException {
    StateChangeLogger changes = new StateChangeLogger(LOG);
    while (true) {
      try {
        return open();
      } catch (IllegalArgumentException e) {
        changes.info("no connection to the pool yet: " + e.getMessage());
        Thread.sleep(LOOK_MILLIS);
      }
    }
  }
}
