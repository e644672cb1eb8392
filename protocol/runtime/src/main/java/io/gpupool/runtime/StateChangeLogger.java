// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import org.slf4j.Logger;
import org.slf4j.event.Level;

/** A logger that writes a state once, until it changes. For one thread. */
public final class StateChangeLogger {
  private final Logger log;
  private String said = "";

  public StateChangeLogger(Logger log) {
    this.log = log;
  }

  /** Has the next state written even if it is the last one again. */
  public void anew() {
    said = "";
  }

  /** Writes it, unless that was the last that was written. */
  public void info(String text) {
    say(Level.INFO, text);
  }

  /** Writes it as a warning. */
  public void warn(String text) {
    say(Level.WARN, text);
  }

  private void say(Level level, String text) {
    if (!text.equals(said)) {
      said = text;
      log.atLevel(level).log(text);
    }
  }
}
