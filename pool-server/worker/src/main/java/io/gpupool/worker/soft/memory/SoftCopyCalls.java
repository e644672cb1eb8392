// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.memory;

import io.gpupool.cuda.CopyCalls;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import io.gpupool.worker.soft.state.Waiting;
import java.lang.foreign.MemorySegment;

/** Driver calls that copy and fill memory. */
public final class SoftCopyCalls extends SoftCalls implements CopyCalls {
  public SoftCopyCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuMemcpyHtoD_v2(long target, long source, long bytes) {
    return call(() -> write(context().legacyStream(), target, source, bytes));
  }

  @Override
  public int cuMemcpyHtoDAsync_v2(long target, long source, long bytes, long stream) {
    return call(() -> write(stream(stream), target, source, bytes));
  }

  @Override
  public int cuMemcpyDtoH_v2(long target, long source, long bytes) {
    return call(() -> {
      SoftStream stream = context().legacyStream();
      Waiting.await(read(stream, target, source, bytes));
      stream.context().requireUsable();
    });
  }

  @Override
  public int cuMemcpyDtoHAsync_v2(long target, long source, long bytes, long stream) {
    return call(() -> read(stream(stream), target, source, bytes));
  }

  @Override
  public int cuMemcpyDtoDAsync_v2(long target, long source, long bytes, long stream) {
    return call(() -> stream(stream).copy(target, source, bytes));
  }

  @Override
  public int cuMemcpyPeerAsync(
      long target, long targetContext, long source, long sourceContext, long bytes, long stream) {
    return call(() -> stream(stream).copy(target, source, bytes));
  }

  @Override
  public int cuMemsetD8Async(long target, int value, long count, long stream) {
    return call(() -> stream(stream).fill(target, 0, value, 1, count, 1));
  }

  @Override
  public int cuMemsetD16Async(long target, int value, long count, long stream) {
    return call(() -> stream(stream).fill(target, 0, value, 2, count, 1));
  }

  @Override
  public int cuMemsetD32Async(long target, int value, long count, long stream) {
    return call(() -> stream(stream).fill(target, 0, value, 4, count, 1));
  }

  @Override
  public int cuMemsetD2D8Async(
      long target, long pitch, int value, long width, long height, long stream) {
    return call(() -> stream(stream).fill(target, pitch, value, 1, width, height));
  }

  @Override
  public int cuMemsetD2D16Async(
      long target, long pitch, int value, long width, long height, long stream) {
    return call(() -> stream(stream).fill(target, pitch, value, 2, width, height));
  }

  @Override
  public int cuMemsetD2D32Async(
      long target, long pitch, int value, long width, long height, long stream) {
    return call(() -> stream(stream).fill(target, pitch, value, 4, width, height));
  }

  @Override
  public int cuMemcpy3DAsync_v2(long description, long stream) {
    return call(() -> new BoxCopy(state().handles(), description).submit(stream(stream)));
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
