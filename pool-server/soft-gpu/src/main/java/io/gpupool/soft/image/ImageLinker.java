// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.module.PtxModule;
import io.gpupool.soft.ptx.module.PtxUnit;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A linker of the parts of a program into one image: a fat binary that holds them all and that
 * {@link DeviceImage#parse} reads. Used by one thread at a time.
 */
public final class ImageLinker {
  // CUjitInputType
  private static final int INPUT_PTX = 1;
  private static final int INPUT_FATBIN = 2;

  private final int computeCapability;
  private final List<PtxUnit> units = new ArrayList<>();

  /**
   * Begins with nothing.
   *
   * @param computeCapability of the device, 10 * major + minor
   */
  public ImageLinker(int computeCapability) {
    this.computeCapability = computeCapability;
  }

  /**
   * Adds a part.
   *
   * @param type CUjitInputType; machine code, host objects and libraries are refused
   * @throws GpuException INVALID_PTX, INVALID_IMAGE, INVALID_VALUE, NO_BINARY_FOR_GPU
   */
  public void add(int type, MemorySegment data) {
    Bytes bytes = new Bytes(data);
    boolean fatbin = bytes.length() >= 4 && bytes.i32(0) == Fatbin.MAGIC;
    // What an earlier link made is passed on as machine code, of which it takes the place.
    if (fatbin && type != INPUT_PTX) {
      List<PtxUnit> found = DeviceImage.units(Fatbin.parseAll(bytes), computeCapability);
      if (found.isEmpty()) {
        throw machineCode();
      }
      units.addAll(found);
    } else if (type == INPUT_PTX) {
      units.add(DeviceImage.unit(bytes, computeCapability));
    } else if (type == INPUT_FATBIN) {
      throw Bytes.invalid("no fat binary");
    } else if (type > INPUT_FATBIN && type < 10 || type == 0) {
      throw machineCode();
    } else {
      throw new GpuException(CudaStatus.INVALID_VALUE, "there is no input type " + type);
    }
  }

  private static GpuException machineCode() {
    return new GpuException(
        CudaStatus.NO_BINARY_FOR_GPU,
        "the software GPU links PTX and fat binaries with PTX, not machine code, objects or"
            + " libraries");
  }

  /**
   * The image of all parts.
   *
   * @throws GpuException INVALID_PTX if they do not fit together, INVALID_IMAGE if there are none
   */
  public byte[] complete() {
    if (units.isEmpty()) {
      throw Bytes.invalid("nothing to link");
    }
    try {
      PtxModule.link(units);
    } catch (PtxException e) {
      throw DeviceImage.refusal(e);
    }
    List<byte[]> texts = new ArrayList<>();
    int bodyBytes = 0;
    for (PtxUnit unit : units) {
      byte[] text = unit.text().getBytes(StandardCharsets.ISO_8859_1);
      texts.add(text);
      bodyBytes = Math.addExact(bodyBytes, Fatbin.ENTRY_HEADER_BYTES + padded(text.length));
    }
    ByteBuffer image =
        ByteBuffer.allocate(Math.addExact(Fatbin.CONTAINER_HEADER_BYTES, bodyBytes))
            .order(ByteOrder.LITTLE_ENDIAN);
    image.putInt(Fatbin.MAGIC).putShort((short) 1);
    image.putShort((short) Fatbin.CONTAINER_HEADER_BYTES).putLong(bodyBytes);
    for (byte[] text : texts) {
      int start = image.position();
      image.putShort((short) FatbinEntry.LINKED_PTX).putShort((short) 1);
      image.putInt(Fatbin.ENTRY_HEADER_BYTES).putLong(padded(text.length));
      image.putInt(start + Fatbin.ENTRY_ARCH_OFFSET, computeCapability);
      image.position(start + Fatbin.ENTRY_HEADER_BYTES).put(text);
      image.position(start + Fatbin.ENTRY_HEADER_BYTES + padded(text.length));
    }
    return image.array();
  }

  /** The texts end with a zero byte. */
  private static int padded(int bytes) {
    return bytes + 8 & -8;
  }
}
