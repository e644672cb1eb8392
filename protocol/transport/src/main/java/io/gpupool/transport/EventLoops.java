// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.util.concurrent.DefaultThreadFactory;

/** A factory of the event loops of a process. */
public final class EventLoops {
  private EventLoops() {}

  /**
   * Starts no thread yet; each loop starts with its first use.
   *
   * @throws IllegalStateException where Netty's native epoll library does not load
   */
  public static EventLoopGroup create(String name, int threads) {
    if (!Epoll.isAvailable()) {
      Throwable cause = Epoll.unavailabilityCause();
      throw new IllegalStateException(
          "Netty's epoll library cannot be loaded ("
              + cause
              + "); gpupool needs Linux and a temporary folder without noexec"
              + " (set one with -Dio.netty.native.workdir=FOLDER)",
          cause);
    }
    return new MultiThreadIoEventLoopGroup(
        threads, new DefaultThreadFactory(name, true), EpollIoHandler.newFactory());
  }
}
