// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.nccl.NcclException;
import org.jspecify.annotations.Nullable;

/**
 * The thread of a rank of NCCL. It does what waits for other ranks: it begins the rank, connects,
 * splits and ends it, and it looks for errors meanwhile.
 */
final class NcclThread {
  private static final long STACK_BYTES = 8 << 20;

  private final NcclCommunicator communicator;
  private final NcclTasks tasks;
  private final NcclTasks.Task first;

  private NcclThread(NcclCommunicator communicator, NcclTasks tasks, NcclTasks.Task first) {
    this.communicator = communicator;
    this.tasks = tasks;
    this.first = first;
  }

  static void start(
      NcclCommunicator communicator, NcclTasks tasks, NcclTasks.Task first, String name) {
    start(new NcclThread(communicator, tasks, first)::serve, name);
  }

  /** Starts a thread with a stack that a library in C can use. */
  static void start(Runnable action, String name) {
    Thread thread = new Thread(null, action, name, STACK_BYTES);
    thread.setDaemon(true);
    thread.start();
  }

  private void serve() {
    communicator.enter();
    run(first);
    while (!tasks.isOver(communicator::isComplete)) {
      NcclTasks.@Nullable Task task = tasks.next();
      if (task == null) {
        communicator.look();
      } else {
        run(task);
      }
    }
    communicator.leave();
  }

  private void run(NcclTasks.Task task) {
    try {
      task.run();
    } catch (NcclException e) {
      communicator.fail(e.result(), String.valueOf(e.getMessage()));
    } catch (RuntimeException | Error e) {
      communicator.fail(NcclResult.SYSTEM_ERROR, "NCCL at the server: " + e);
    }
  }
}
