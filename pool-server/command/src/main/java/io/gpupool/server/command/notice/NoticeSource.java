// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command.notice;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * A source of notices that this machine is about to be taken away. Used by one thread at a time.
 */
public interface NoticeSource {
  /**
   * Looks whether there is a notice. The first look takes a few seconds at most, a later one may
   * wait for the notice.
   *
   * @throws IOException if the source cannot be asked; the message is for people
   */
  Optional<Notice> look() throws IOException, InterruptedException;

  /** Returns the pause until the next look. */
  Duration pause();
}
