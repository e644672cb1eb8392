// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.context;

import io.gpupool.cuda.GreenContextCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.context.PrimaryContext;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.ContextHandle;
import io.gpupool.worker.soft.state.SmResource;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import java.util.ArrayList;
import java.util.List;

/**
 * Driver calls about resources and green contexts. A green context is its device's primary context,
 * with which it shares the default stream, too, and says that it has the multiprocessors that it
 * was made of; kernels are not kept to them.
 */
public final class SoftGreenCalls extends SoftCalls implements GreenContextCalls {
  /** CU_GREEN_CTX_DEFAULT_STREAM. */
  private static final int DEFAULT_STREAM = 1;

  /** CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT. */
  private static final int MULTIPROCESSORS = 16;

  /** A descriptor. */
  record Description(SmResource resource) {}

  public SoftGreenCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuDeviceGetDevResource(int device, long resource, int type) {
    return call(() -> write(whole(device), resource, type));
  }

  @Override
  public int cuCtxGetDevResource(long context, long resource, int type) {
    return call(() -> {
      SoftDevice device = state().context(context).device();
      write(whole(device.ordinal()), resource, type);
    });
  }

  @Override
  public int cuGreenCtxGetDevResource(long green, long resource, int type) {
    return call(() ->
        write(state().handles().get(green, ContextHandle.Green.class).resource(), resource, type));
  }

  @Override
  public int cuDevSmResourceSplitByCount(
      long result, long groups, long input, long remaining, int flags, int minCount) {
    return call(() -> {
      int wanted = result == 0 ? Integer.MAX_VALUE : Memory.getInt(groups);
      SmResource.Split split =
          SmResource.read(input, this::capability)
              .split(wanted, flags, minCount, state().nextSplit());
      Memory.putInt(groups, split.groups().size());
      for (int i = 0; result != 0 && i < split.groups().size(); i++) {
        split.groups().get(i).write(result + (long) i * SmResource.BYTES);
      }
      if (remaining != 0) {
        split.remaining().write(remaining);
      }
    });
  }

  @Override
  public int cuDevResourceGenerateDesc(long description, long resources, int count) {
    return call(() -> {
      List<SmResource> parts = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        parts.add(SmResource.read(resources + (long) i * SmResource.BYTES, this::capability));
      }
      Description made = new Description(SmResource.together(parts));
      Memory.putLong(description, state().handles().add(made));
    });
  }

  @Override
  public int cuGreenCtxCreate(long green, long description, int device, int flags) {
    return call(() -> {
      SmResource resource = state().handles().get(description, Description.class).resource();
      if (flags != DEFAULT_STREAM || resource.device() != device) {
        throw new GpuException(
            CudaStatus.INVALID_VALUE, "a green context with flags " + flags + " on GPU " + device);
      }
      PrimaryContext owner = primary(device);
      owner.retain();
      Memory.putLong(green, state().handles().add(new ContextHandle.Green(owner, resource)));
    });
  }

  @Override
  public int cuGreenCtxDestroy(long green) {
    return call(() -> state().handles().remove(green, ContextHandle.Green.class).owner().release());
  }

  @Override
  public int cuCtxFromGreenCtx(long context, long green) {
    return call(() -> {
      state().handles().get(green, ContextHandle.Green.class);
      Memory.putLong(context, green);
    });
  }

  private SmResource whole(int ordinal) {
    int count = device(ordinal).attribute(MULTIPROCESSORS);
    return new SmResource(ordinal, 0, count, 0, capability(ordinal));
  }

  private int capability(int ordinal) {
    return device(ordinal).computeCapability();
  }

  private static void write(SmResource resource, long to, int type) {
    if (type != SmResource.TYPE) {
      throw new GpuException(CudaStatus.INVALID_RESOURCE_TYPE, "no resources of type " + type);
    }
    resource.write(to);
  }
}
