// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.control.ControlThread;
import io.gpupool.transport.EventLoops;
import io.netty.channel.EventLoopGroup;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * The threads of a server: one that owns its state, one that starts processes, one that waits for
 * disks, and the event loop of the workers' sockets.
 */
final class ServerThreads {
  /** How long an ordered end of something may take. */
  static final long STOP_SECONDS = 5;

  private final ControlThread control = new ControlThread();
  private final ExecutorService spawner = daemon("gpupool-spawn");
  private final ExecutorService disk = daemon("gpupool-disk");
  private final EventLoopGroup loop = EventLoops.create("gpupool-server", 1);

  ControlThread control() {
    return control;
  }

  ExecutorService spawner() {
    return spawner;
  }

  ExecutorService disk() {
    return disk;
  }

  EventLoopGroup loop() {
    return loop;
  }

  void stop() {
    control.stop();
    spawner.shutdown();
    disk.shutdown();
    loop.shutdownGracefully(0, STOP_SECONDS, TimeUnit.SECONDS).awaitUninterruptibly();
  }

  private static ExecutorService daemon(String name) {
    return Executors.newSingleThreadExecutor(task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    });
  }
}
