// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.AddressRanges;
import java.util.function.IntSupplier;

/**
 * The ranges of device addresses that the session has allocated, reserved, opened or been told of.
 * With unified addressing a driver takes any address for the memory that lies there, this process's
 * own included, so a call may name no other. The session's thread changes it; any thread may ask.
 */
public final class OwnedMemory {
  /** The most bytes that a range may have; more can be in no memory. */
  public static final long MAX_BYTES = 1L << 50;

  private final boolean backendChecks;

  @GuardedBy("this")
  private final AddressRanges ranges = new AddressRanges();

  /** Starts with none; a backend that finds every address in tables of its own is not doubled. */
  public OwnedMemory(Backend backend) {
    backendChecks = backend.checksAddresses();
  }

  public void add(long address, long lengthBytes) {
    if (!backendChecks) {
      synchronized (this) {
        ranges.add(address, lengthBytes);
      }
    }
  }

  /** To be called before the memory goes: whatever is asked for afterwards is refused. */
  public void remove(long address) {
    if (!backendChecks) {
      synchronized (this) {
        ranges.remove(address);
      }
    }
  }

  /** Returns whether a range is the session's; none is nobody's, and lies anywhere. */
  public boolean owns(long address, long lengthBytes) {
    if (backendChecks || lengthBytes == 0) {
      return true;
    }
    synchronized (this) {
      return ranges.cover(address, lengthBytes);
    }
  }

  /** The same of rows of elements; lengths are unsigned. */
  public boolean owns(long address, long pitchBytes, long elements, int elementBytes, long rows) {
    if (backendChecks || elements == 0 || rows == 0) {
      return true;
    }
    boolean countable =
        elements > 0
            && rows > 0
            && elements <= MAX_BYTES / elementBytes
            && (rows == 1 || pitchBytes >= 0 && pitchBytes <= MAX_BYTES / rows);
    return countable
        && owns(address, (rows == 1 ? 0 : pitchBytes * (rows - 1)) + elements * elementBytes);
  }

  /**
   * Makes a call about a range if it is the session's, and lets it not go away meanwhile; for
   * threads other than the session's, which may be freeing it.
   *
   * @return what the call returns, or INVALID_VALUE
   */
  public int whileOwned(long address, long lengthBytes, IntSupplier call) {
    if (backendChecks) {
      return call.getAsInt();
    }
    synchronized (this) {
      return ranges.cover(address, lengthBytes) ? call.getAsInt() : CudaResult.INVALID_VALUE;
    }
  }
}
