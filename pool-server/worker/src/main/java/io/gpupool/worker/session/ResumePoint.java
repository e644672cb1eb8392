// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * The places in a call stream at which a later connection goes on.
 *
 * @param executed the position up to which requests were executed
 * @param acknowledged the position up to which the client has the answers
 * @param furthest the position behind the last answer that was sent
 * @param kept the answers that the client has not acknowledged
 */
@SuppressWarnings("ArrayRecordComponent")
public record ResumePoint(long executed, long acknowledged, long furthest, byte[] kept) {
  /** Writes it down. */
  public void write(DataOutput to) throws IOException {
    to.writeLong(executed);
    to.writeLong(acknowledged);
    to.writeLong(furthest);
    to.writeInt(kept.length);
    to.write(kept);
  }

  /** Reads what {@link #write} wrote. */
  public static ResumePoint read(DataInput from) throws IOException {
    long executed = from.readLong();
    long acknowledged = from.readLong();
    long furthest = from.readLong();
    byte[] kept = new byte[from.readInt()];
    from.readFully(kept);
    if (executed < 0 || acknowledged < 0 || furthest < acknowledged) {
      throw new IOException("positions of a call stream that are none");
    }
    return new ResumePoint(executed, acknowledged, furthest, kept);
  }
}
