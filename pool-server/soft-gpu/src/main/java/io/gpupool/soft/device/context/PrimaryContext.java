// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import org.jspecify.annotations.Nullable;

/** The primary context of a device, which lives while it has users. Any thread may call it. */
public final class PrimaryContext {
  private final SoftDevice device;

  @GuardedBy("this")
  private @Nullable SoftContext context;

  @GuardedBy("this")
  private int users;

  @GuardedBy("this")
  private int flags;

  public PrimaryContext(SoftDevice device) {
    this.device = device;
  }

  /** Counts a user, and makes the context for the first. */
  public synchronized SoftContext retain() {
    if (context == null) {
      context = new SoftContext(device, flags);
    }
    users++;
    return context;
  }

  /**
   * Takes a user off; the last one's leaving destroys the context.
   *
   * @throws GpuException INVALID_CONTEXT if it has no user
   */
  public synchronized void release() {
    if (users == 0) {
      throw new GpuException(CudaStatus.INVALID_CONTEXT, "the primary context is not retained");
    }
    if (--users == 0) {
      reset();
    }
  }

  /** Destroys the context, whatever uses it; its users keep their counts. */
  public synchronized void reset() {
    if (context != null) {
      context.destroy();
      context = null;
    }
  }

  /**
   * Returns the context, made anew if it was reset.
   *
   * @throws GpuException CONTEXT_IS_DESTROYED if it has no user
   */
  public synchronized SoftContext require() {
    if (context == null) {
      if (users == 0) {
        throw new GpuException(
            CudaStatus.CONTEXT_IS_DESTROYED, "the primary context is not retained");
      }
      context = new SoftContext(device, flags);
    }
    return context;
  }

  /** Sets the flags of the context; one that exists takes them at once. */
  public synchronized void setFlags(int newFlags) {
    flags = newFlags;
    if (context != null) {
      context.setFlags(newFlags);
    }
  }
}
