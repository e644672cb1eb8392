// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

/**
 * A device's time as far as it is this process's: threads ask for it before they do the device's
 * work, and look between pieces of that work whether it is still theirs. Any thread may call it.
 */
public interface DeviceTime {
  /** Answer of {@link #begin} when the work must not begin now. */
  long NOT_NOW = Long.MIN_VALUE;

  /** Time of a device that nobody else uses. */
  DeviceTime UNSHARED = new Unshared();

  /** What a thread wants the device for. */
  interface Use {
    /** Whether it is still worth waiting for the device; asked by the thread that waits. */
    boolean isWanted();
  }

  /**
   * Takes part in the device's time, waiting for it if need be; {@link #end} must follow.
   *
   * @param nowNanos what {@link System#nanoTime} says
   * @return when the work began, {@code nowNanos} if nothing had to be waited for; {@link #NOT_NOW}
   *     if the use is not wanted any more, or the wait takes so long that the thread had better see
   *     what else there is to do
   */
  long begin(Use use, long nowNanos);

  /** The thread's work, or a piece of it, is over. */
  void end(long nowNanos);

  /** Whether the thread has to look, by {@link #pass}, if it may go on. Costs next to nothing. */
  boolean isOver();

  /**
   * Lets others have the device if it is their turn, and waits until it is this one's again.
   *
   * @return nanoseconds of waiting
   */
  long pass(Use use);

  /** The same, for work that goes on whatever happens, such as a copy. */
  default void await(long nowNanos) {
    while (begin(ALWAYS, nowNanos) == NOT_NOW) {
      // a wait is bounded, the need for it is not
    }
  }

  /** Does work that goes on whatever happens, on the calling thread and in the device's time. */
  default void run(Runnable work) {
    await(System.nanoTime());
    try {
      work.run();
    } finally {
      end(System.nanoTime());
    }
  }

  /** A use that is not given up. */
  Use ALWAYS = () -> true;

  /** See {@link #UNSHARED}. */
  class Unshared implements DeviceTime {
    /** For a device's time of which more is to be said. */
    protected Unshared() {}

    @Override
    public long begin(Use use, long nowNanos) {
      return nowNanos;
    }

    @Override
    public void end(long nowNanos) {}

    @Override
    public boolean isOver() {
      return false;
    }

    @Override
    public long pass(Use use) {
      return 0;
    }
  }
}
