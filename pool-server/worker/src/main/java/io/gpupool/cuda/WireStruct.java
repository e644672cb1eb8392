// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import io.gpupool.worker.os.Memory;
import java.util.Objects;

/**
 * A struct, or a list of them, as it came over the wire. Its fields are read one by one and its
 * address stays here, so that a backend is never handed one: what it gets is built anew of what was
 * checked. Good for the duration of the call that gets it; used by the session's thread alone.
 */
public final class WireStruct {
  private final long address;
  private final long lengthBytes;

  private WireStruct(long address, long lengthBytes) {
    this.address = address;
    this.lengthBytes = lengthBytes;
  }

  /**
   * A struct in the receive buffer, whose length has been checked to be there.
   *
   * @param address 0: the client sent NULL
   */
  public static WireStruct at(long address, long lengthBytes) {
    return new WireStruct(address, lengthBytes);
  }

  /** The bytes that a buffer takes in a frame. */
  public static int padded(int lengthBytes) {
    return (lengthBytes + 7) & -8;
  }

  public boolean isNull() {
    return address == 0;
  }

  public long lengthBytes() {
    return lengthBytes;
  }

  /** Returns whether it is there, and of this length. */
  public boolean is(long bytes) {
    return address != 0 && lengthBytes == bytes;
  }

  public int u16(long offset) {
    return Memory.getShort(checked(offset, Short.BYTES));
  }

  public int i32(long offset) {
    return Memory.getInt(checked(offset, Integer.BYTES));
  }

  /** An i32 as it would be unsigned. */
  public long u32(long offset) {
    return i32(offset) & 0xffffffffL;
  }

  public long u64(long offset) {
    return Memory.getLong(checked(offset, Long.BYTES));
  }

  public float f32(long offset) {
    return Float.intBitsToFloat(i32(offset));
  }

  /** A part that is a struct itself. */
  public WireStruct part(long offset, long bytes) {
    return new WireStruct(checked(offset, bytes), bytes);
  }

  public byte[] bytes(long offset, int length) {
    return Memory.bytes(checked(offset, length), length);
  }

  /**
   * Copies numbers that name nothing, neither an address nor a handle, into a struct for the
   * backend.
   */
  public void copyNumbers(long offset, long bytes, long target) {
    Memory.copy(checked(offset, bytes), target, bytes);
  }

  /**
   * Where a part lies whose bytes mean nothing to the host: parameters of a kernel, which a backend
   * only copies.
   */
  public long kernelParameters(long offset, long bytes) {
    return checked(offset, bytes);
  }

  private long checked(long offset, long bytes) {
    Objects.checkFromIndexSize(offset, bytes, lengthBytes);
    return address + offset;
  }
}
