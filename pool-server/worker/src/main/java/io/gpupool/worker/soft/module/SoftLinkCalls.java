// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.cuda.LinkCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.image.ImageLinker;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Driver calls that link images at run time. */
public final class SoftLinkCalls extends SoftCalls implements LinkCalls {
  /** A link while it is made, and its result, which lives as long. */
  private static final class Link {
    private final ImageLinker linker;
    private final JitOptions options;
    private final Arena arena = Arena.ofShared();

    Link(ImageLinker linker, JitOptions options) {
      this.linker = linker;
      this.options = options;
    }

    /** Does a step of it, and puts what is wrong into the log. */
    private void log(Runnable step) {
      try {
        step.run();
      } catch (GpuException e) {
        options.writeError(e);
        throw e;
      }
    }
  }

  public SoftLinkCalls(SoftState state) {
    super(state);
  }

  /** The options' values are written to as long as the link lives. */
  @Override
  public int cuLinkCreate_v2(int numOptions, long options, long optionValues, long stateOut) {
    return call(() -> {
      ImageLinker linker = new ImageLinker(context().device().computeCapability());
      Link link = new Link(linker, new JitOptions(numOptions, options, optionValues));
      Memory.putLong(stateOut, state().handles().add(link));
    });
  }

  @Override
  public int cuLinkAddData_v2(
      long linkState,
      int type,
      long data,
      long size,
      long name,
      int numOptions,
      long options,
      long optionValues) {
    return call(() -> {
      Link link = state().handles().get(linkState, Link.class);
      if (data == 0 || size <= 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "nothing to link");
      }
      MemorySegment bytes = MemorySegment.ofAddress(data).reinterpret(size);
      link.log(() -> link.linker.add(type, bytes));
    });
  }

  @Override
  public int cuLinkComplete(long linkState, long image, long imageBytes) {
    return call(() -> {
      Link link = state().handles().get(linkState, Link.class);
      link.log(() -> {
        byte[] whole = link.linker.complete();
        MemorySegment kept = link.arena.allocate(whole.length + 8L, 8);
        kept.copyFrom(MemorySegment.ofArray(whole));
        Memory.putLong(image, kept.address());
        Memory.putLong(imageBytes, whole.length);
      });
    });
  }

  @Override
  public int cuLinkDestroy(long linkState) {
    return call(() -> state().handles().remove(linkState, Link.class).arena.close());
  }
}
