// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Device memory of a session.
 *
 * @param address where it begins
 * @param lengthBytes its length
 * @param stageable whether its bytes can be put there before it is allocated
 */
public record MemoryRange(long address, long lengthBytes, boolean stageable) {
  /** Writes ranges down. */
  public static void write(List<MemoryRange> ranges, DataOutput to) throws IOException {
    to.writeInt(ranges.size());
    for (MemoryRange range : ranges) {
      to.writeLong(range.address);
      to.writeLong(range.lengthBytes);
      to.writeBoolean(range.stageable);
    }
  }

  /** Reads what {@link #write} wrote. */
  public static List<MemoryRange> read(DataInput from) throws IOException {
    List<MemoryRange> ranges = new ArrayList<>();
    for (int count = from.readInt(); count > 0; count--) {
      ranges.add(new MemoryRange(from.readLong(), from.readLong(), from.readBoolean()));
    }
    return ranges;
  }
}
