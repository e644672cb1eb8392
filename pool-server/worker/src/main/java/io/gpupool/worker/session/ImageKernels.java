// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.soft.GpuException;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.soft.ptx.KernelInfo;
import io.gpupool.soft.ptx.ParamInfo;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** The kernels of an image as the image itself tells them, for drivers that do not: before 12.4. */
final class ImageKernels {
  private final Map<String, byte[]> parameters = new LinkedHashMap<>();

  /** Reads an image; one that cannot be read tells of no kernels. */
  static ImageKernels read(long address, long lengthBytes, int computeCapability) {
    ImageKernels kernels = new ImageKernels();
    if (computeCapability <= 0) {
      return kernels; // a driver that does not tell its devices' either, such as the warm-up's
    }
    try {
      MemorySegment image = MemorySegment.ofAddress(address).reinterpret(lengthBytes);
      for (KernelInfo kernel : DeviceImage.parse(image, computeCapability).kernels()) {
        kernels.add(kernel);
      }
    } catch (GpuException e) {
      System.err.println("gpupool worker: cannot list the kernels of an image: " + e.getMessage());
    }
    return kernels;
  }

  /** A kernel's parameters: {@code u32 offset, u32 size} each. */
  Optional<byte[]> parameters(String kernel) {
    return Optional.ofNullable(parameters.get(kernel));
  }

  /** All kernels, in the layout of {@code moduleLoad}; empty if that is too long. */
  byte[] table(long limitBytes) {
    ByteArrayOutputStream table = new ByteArrayOutputStream();
    parameters.forEach((name, list) -> table.writeBytes(FunctionTable.entry(name, list)));
    return table.size() <= limitBytes ? table.toByteArray() : new byte[0];
  }

  private void add(KernelInfo kernel) {
    ByteBuffer list =
        ByteBuffer.allocate(8 * kernel.params().size()).order(ByteOrder.LITTLE_ENDIAN);
    for (ParamInfo parameter : kernel.params()) {
      list.putInt(parameter.offsetBytes()).putInt(parameter.sizeBytes());
    }
    parameters.put(kernel.name(), list.array());
  }
}
