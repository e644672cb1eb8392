// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The threads of a session beside its own: some that wait for the backend, one for callbacks. */
final class SessionThreads {
  private static final int MAX_WAITING_THREADS = 64;
  private static final long IDLE_THREAD_SECONDS = 10;
  private static final long SHUT_DOWN_MILLIS = 100;

  private final ThreadPoolExecutor waiting;
  private final ExecutorService callbackSender;

  /** Prepares threads that start when they are needed. */
  SessionThreads() {
    waiting =
        new ThreadPoolExecutor(
            MAX_WAITING_THREADS,
            MAX_WAITING_THREADS,
            IDLE_THREAD_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> daemon("session-wait", task),
            new ThreadPoolExecutor.DiscardPolicy());
    waiting.allowCoreThreadTimeOut(true);
    callbackSender = Executors.newSingleThreadExecutor(task -> daemon("session-callback", task));
  }

  ExecutorService waiting() {
    return waiting;
  }

  /** One thread that sends the requests for host functions. */
  ExecutorService callbackSender() {
    return callbackSender;
  }

  /** Ends them; false if a waiting thread is still inside the backend a little later. */
  boolean shutDown() {
    waiting.shutdown();
    callbackSender.shutdown();
    try {
      return waiting.awaitTermination(SHUT_DOWN_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }
}
