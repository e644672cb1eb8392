// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.device.SoftStream;
import io.gpupool.soft.device.work.Completion;
import java.lang.foreign.MemorySegment;

/** Driver calls that copy and fill memory. */
interface SoftCopyCalls extends SoftCalls {
  @Override
  default int cuMemcpyHtoD_v2(long target, long source, long bytes) {
    return call(() -> write(context().legacyStream(), target, source, bytes));
  }

  @Override
  default int cuMemcpyHtoDAsync_v2(long target, long source, long bytes, long stream) {
    return call(() -> write(stream(stream), target, source, bytes));
  }

  @Override
  default int cuMemcpyDtoH_v2(long target, long source, long bytes) {
    return call(() -> {
      SoftStream stream = context().legacyStream();
      Waiting.await(read(stream, target, source, bytes));
      stream.context().requireUsable();
    });
  }

  @Override
  default int cuMemcpyDtoHAsync_v2(long target, long source, long bytes, long stream) {
    return call(() -> read(stream(stream), target, source, bytes));
  }

  @Override
  default int cuMemcpyDtoDAsync_v2(long target, long source, long bytes, long stream) {
    return call(() -> stream(stream).copy(target, source, bytes));
  }

  @Override
  default int cuMemcpyPeerAsync(
      long target, long targetContext, long source, long sourceContext, long bytes, long stream) {
    return call(() -> stream(stream).copy(target, source, bytes));
  }

  @Override
  default int cuMemsetD8Async(long target, int value, long count, long stream) {
    return call(() -> stream(stream).fill(target, 0, value, 1, count, 1));
  }

  @Override
  default int cuMemsetD16Async(long target, int value, long count, long stream) {
    return call(() -> stream(stream).fill(target, 0, value, 2, count, 1));
  }

  @Override
  default int cuMemsetD32Async(long target, int value, long count, long stream) {
    return call(() -> stream(stream).fill(target, 0, value, 4, count, 1));
  }

  @Override
  default int cuMemsetD2D8Async(
      long target, long pitch, int value, long width, long height, long stream) {
    return call(() -> stream(stream).fill(target, pitch, value, 1, width, height));
  }

  @Override
  default int cuMemsetD2D16Async(
      long target, long pitch, int value, long width, long height, long stream) {
    return call(() -> stream(stream).fill(target, pitch, value, 2, width, height));
  }

  @Override
  default int cuMemsetD2D32Async(
      long target, long pitch, int value, long width, long height, long stream) {
    return call(() -> stream(stream).fill(target, pitch, value, 4, width, height));
  }

  private static Completion write(SoftStream stream, long target, long source, long bytes) {
    return stream.write(target, MemorySegment.ofAddress(source).reinterpret(bytes));
  }

  private static Completion read(SoftStream stream, long target, long source, long bytes) {
    if (bytes == 0) {
      return stream.completion();
    }
    MemorySegment host = MemorySegment.ofAddress(target).reinterpret(bytes);
    return stream.read(source, bytes, device -> host.copyFrom(device));
  }
}
