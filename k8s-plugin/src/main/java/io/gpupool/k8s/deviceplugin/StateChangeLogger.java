// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import org.slf4j.Logger;
import org.slf4j.event.Level;

/** Logger that writes a state once, until it changes. For one thread. */
final class StateChangeLogger {
  private final Logger log;
  private String said = "";

  StateChangeLogger(Logger log) {
    this.log = log;
  }

  /** What is said next is said even if it was said before. */
  void anew() {
    said = "";
  }

  void info(String text) {
    say(Level.INFO, text);
  }

  void warn(String text) {
    say(Level.WARN, text);
  }

  private void say(Level level, String text) {
    if (!text.equals(said)) {
      said = text;
      log.atLevel(level).log(text);
    }
  }
}
