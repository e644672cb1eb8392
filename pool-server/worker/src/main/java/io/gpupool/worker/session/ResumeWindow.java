// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import java.util.function.Consumer;

/**
 * The time that a session outlives its connection.
 *
 * @param millis 0: it ends with it
 * @param disconnected told, by the session's thread, why the connection was lost
 * @param resumed told, by the session's thread, when another one has taken its place
 */
public record ResumeWindow(long millis, Consumer<String> disconnected, Runnable resumed) {
  /** Of a session that ends with its connection. */
  public static final ResumeWindow NONE = new ResumeWindow(0, cause -> {}, () -> {});

  boolean exists() {
    return millis > 0;
  }
}
