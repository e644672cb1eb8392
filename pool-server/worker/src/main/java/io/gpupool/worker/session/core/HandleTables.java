// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

/** The handle tables of a session, one a kind of handle. Used by the session's thread alone. */
public record HandleTables(
    HandleTable streams,
    HandleTable events,
    HandleTable modules,
    HandleTable functions,
    HandleTable arrays,
    HandleTable mipmaps) {
  private static final int LEGACY_STREAM = 1;

  /** Makes empty tables. */
  public HandleTables() {
    this(
        new HandleTable(),
        new HandleTable(),
        new HandleTable(),
        new HandleTable(),
        new HandleTable(),
        new HandleTable());
  }

  /** The backend's handle of a stream, of which 0 and 1 are default streams. */
  public long stream(int number) {
    return number == 0 || number == LEGACY_STREAM ? number : streams.get(number);
  }
}
