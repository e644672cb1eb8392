// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import java.util.concurrent.TimeUnit;

/** A window of the history: how far back its samples go, and how much time each covers. */
public enum Window {
  hour(TimeUnit.SECONDS.toMillis(10), TimeUnit.HOURS.toMillis(1)),
  day(TimeUnit.MINUTES.toMillis(5), TimeUnit.DAYS.toMillis(1));

  /** Samples that were cut short, as by an end of the server, may be as many more. */
  private static final int SPARE_SAMPLES = 40;

  private final long sampleMillis;
  private final long millis;

  Window(long sampleMillis, long millis) {
    this.sampleMillis = sampleMillis;
    this.millis = millis;
  }

  /** How long a sample is. */
  public long sampleMillis() {
    return sampleMillis;
  }

  /** How long samples are kept. */
  public long millis() {
    return millis;
  }

  int maxSamples() {
    return (int) (millis / sampleMillis) + SPARE_SAMPLES;
  }
}
