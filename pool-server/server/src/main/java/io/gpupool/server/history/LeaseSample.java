// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

/**
 * A lease's part of a sample: the time of the GPU that it was granted, used, and waited for, and
 * the memory that it used and was granted.
 */
public record LeaseSample(
    LeaseLabel lease,
    long grantedNanos,
    long usedNanos,
    long waitedNanos,
    long usedBytes,
    long grantedBytes) {
  LeaseSample plus(LeaseSample other) {
    return new LeaseSample(
        lease,
        grantedNanos + other.grantedNanos,
        usedNanos + other.usedNanos,
        waitedNanos + other.waitedNanos,
        usedBytes + other.usedBytes,
        grantedBytes + other.grantedBytes);
  }

  LeaseSample as(LeaseLabel name) {
    return new LeaseSample(name, grantedNanos, usedNanos, waitedNanos, usedBytes, grantedBytes);
  }

  /** With the memory times and over these numbers. */
  LeaseSample withBytes(long times, long over) {
    return new LeaseSample(
        lease,
        grantedNanos,
        usedNanos,
        waitedNanos,
        usedBytes * times / over,
        grantedBytes * times / over);
  }
}
