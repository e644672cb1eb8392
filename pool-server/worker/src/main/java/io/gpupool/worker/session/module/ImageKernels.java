// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import io.gpupool.soft.GpuException;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.soft.ptx.KernelInfo;
import io.gpupool.soft.ptx.ParamInfo;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The kernels of an image as the image itself tells them: drivers before 12.4 do not, and later
 * ones may load a kernel's code to tell.
 */
final class ImageKernels {
  private @Nullable String problem;
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
      kernels.problem = String.valueOf(e.getMessage());
    }
    return kernels;
  }

  /** Returns the reason for which the image cannot be read, if it cannot. */
  Optional<String> problem() {
    return Optional.ofNullable(problem);
  }

  /** A kernel's parameters: {@code u32 offset, u32 size} each. */
  Optional<byte[]> parameters(String kernel) {
    return Optional.ofNullable(parameters.get(kernel));
  }

  int count() {
    return parameters.size();
  }

  /** The kernels from a number on, in the layout of {@code moduleLoad}, as many as have room. */
  byte[] list(int first, long limitBytes) {
    ByteArrayOutputStream table = new ByteArrayOutputStream();
    List<String> names = List.copyOf(parameters.keySet());
    for (int i = first; i < names.size(); i++) {
      byte[] entry =
          FunctionTable.entry(names.get(i), Objects.requireNonNull(parameters.get(names.get(i))));
      if (table.size() + entry.length > limitBytes) {
        break;
      }
      table.writeBytes(entry);
    }
    return table.toByteArray();
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
