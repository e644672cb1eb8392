// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

/** An interruption of a session between two calls, in which it may leave for another process. */
public interface Pause {
  /**
   * The session is paused: no work is under way, and no connection is there.
   *
   * @param state of the session, to be used in this thread until this method returns
   * @param point where its call stream goes on
   * @return whether the session has left; if not, it goes on
   */
  boolean paused(SessionState state, ResumePoint point);

  /**
   * The session cannot be paused, and goes on.
   *
   * @param reason the reason, for people
   */
  void refused(String reason);
}
