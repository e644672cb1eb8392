// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.pod;

import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A queue of calls to the API server. They run off the controller's thread, a few at a time, in the
 * order in which they come. Owned by the controller's thread, which also gets the results.
 */
public final class ApiCalls {
  private static final int AT_ONCE = 16;

  private final Executor thread;
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private int running;

  public ApiCalls(Executor thread) {
    this.thread = thread;
  }

  public <T> void run(
      Supplier<T> call, Consumer<T> done, Consumer<KubernetesClientException> failed) {
    waiting.add(() -> {
      Runnable result;
      try {
        T value = call.get();
        result = () -> done.accept(value);
      } catch (KubernetesClientException e) {
        result = () -> failed.accept(e);
      } catch (RuntimeException e) {
        // The client wraps some failures below it and not others.
        result = () -> failed.accept(new KubernetesClientException(e.toString(), e));
      }
      Runnable then = result;
      thread.execute(() -> {
        running--;
        pump();
        then.run();
      });
    });
    pump();
  }

  private void pump() {
    while (running < AT_ONCE && !waiting.isEmpty()) {
      running++;
      Thread.startVirtualThread(waiting.remove());
    }
  }
}
