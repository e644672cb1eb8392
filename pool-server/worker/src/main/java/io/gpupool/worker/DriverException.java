// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

/** There is no NVIDIA driver, or none that starts. */
final class DriverException extends Exception {
  private static final long serialVersionUID = 1L;

  /**
   * Stages of the start of a driver; the exit status of a worker tells the pool-server which
   * failed.
   */
  enum Stage {
    /** There is no driver library. */
    NOT_FOUND(3),
    /** The library is there, and cannot be loaded or initialised. */
    BROKEN(4),
    /** As BROKEN, but it may work in a moment: a service that it needs has not started yet. */
    NOT_READY(5);

    private final int exitStatus;

    Stage(int exitStatus) {
      this.exitStatus = exitStatus;
    }
  }

  private final Stage stage;

  DriverException(Stage stage, String message) {
    super(message);
    this.stage = stage;
  }

  int exitStatus() {
    return stage.exitStatus;
  }
}
