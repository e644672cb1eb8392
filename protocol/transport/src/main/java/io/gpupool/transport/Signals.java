// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import java.lang.reflect.Proxy;
import java.util.concurrent.CountDownLatch;

/**
 * The signals that this process handles itself. Only {@code sun.misc.Signal} can do that, of which
 * javac warns in a way that nothing silences; so it is called by reflection.
 */
public final class Signals {
  private Signals() {}

  /** Runs the action, on a thread of the Java runtime, whenever the signal comes. */
  public static void handle(String name, Runnable action) {
    try {
      Class<?> type = Class.forName("sun.misc.Signal");
      Class<?> handlerType = Class.forName("sun.misc.SignalHandler");
      Object handler =
          Proxy.newProxyInstance(
              Signals.class.getClassLoader(),
              new Class<?>[] {handlerType},
              (proxy, method, arguments) -> {
                action.run();
                return null;
              });
      Object signal = type.getConstructor(String.class).newInstance(name);
      type.getMethod("handle", type, handlerType).invoke(null, signal, handler);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("signal " + name + " cannot be handled", e);
    }
  }

  /** Runs the action whenever the process is told to end, in place of the one set before. */
  public static void onTermination(Runnable action) {
    handle("TERM", action);
    handle("INT", action);
  }

  /** Waits until the process is told to end. */
  public static void awaitTermination() throws InterruptedException {
    CountDownLatch told = new CountDownLatch(1);
    onTermination(told::countDown);
    told.await();
  }
}
