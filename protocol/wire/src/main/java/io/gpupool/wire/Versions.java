// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

/** The versions of the byte protocols that this build speaks. */
public final class Versions {
  /** Shim to agent, and pool-server to worker. */
  public static final int LOCAL_PROTOCOL = 1;

  public static final int CALL_STREAM_MIN = 1;
  public static final int CALL_STREAM_MAX = 1;

  private Versions() {}

  /** The highest call-stream version both sides speak, or 0 when there is none. */
  public static int agree(int peerMin, int peerMax) {
    int version = Math.min(peerMax, CALL_STREAM_MAX);
    return version >= Math.max(peerMin, CALL_STREAM_MIN) ? version : 0;
  }
}
