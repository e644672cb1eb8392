// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.compile.emit.MemoryAccess;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.block.KernelCode;
import io.gpupool.soft.exec.launch.BlockTime;
import io.gpupool.soft.exec.launch.KernelMemory;
import io.gpupool.soft.exec.launch.RegionTable;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * A compiled kernel: a class file, and the facts needed to run it.
 *
 * @param className name of the class, in a loader of its own
 */
public record KernelBinary(
    String name,
    String className,
    byte[] classFile,
    boolean waits,
    KernelMemory memory,
    RegionTable regions) {
  private static final int MAX_CLASS_BYTES = 64 << 20;

  /** Defines the class. */
  public CompiledKernel load() {
    try {
      KernelCode code =
          (KernelCode)
              new Loader(classFile).loadClass(className).getDeclaredConstructor().newInstance();
      return new CompiledKernel(name, code, waits, memory, regions, new BlockTime());
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("generated class " + className, e);
    }
  }

  public void write(DataOutput out) throws IOException {
    out.writeUTF(name);
    out.writeUTF(className);
    out.writeBoolean(waits);
    out.writeInt(memory.paramBytes());
    out.writeInt(memory.staticSharedBytes());
    out.writeInt(memory.localBytes());
    out.writeInt(memory.frameBytes());
    out.writeInt(memory.maxDepth());
    int places = regions.waits().length;
    out.writeInt(places);
    for (int place = 0; place < places; place++) {
      out.writeByte(regions.waits()[place]);
      out.writeInt(regions.codes()[place]);
      out.writeBoolean(regions.wide()[place]);
    }
    out.writeInt(classFile.length);
    out.write(classFile);
  }

  public static KernelBinary read(DataInput in) throws IOException {
    String name = in.readUTF();
    String className = in.readUTF();
    boolean waits = in.readBoolean();
    KernelMemory memory =
        new KernelMemory(in.readInt(), in.readInt(), in.readInt(), in.readInt(), in.readInt());
    int places = length(in.readInt());
    RegionTable regions = new RegionTable(new byte[places], new int[places], new boolean[places]);
    for (int place = 0; place < places; place++) {
      regions.waits()[place] = in.readByte();
      regions.codes()[place] = in.readInt();
      regions.wide()[place] = in.readBoolean();
    }
    byte[] classFile = new byte[length(in.readInt())];
    in.readFully(classFile);
    return new KernelBinary(name, className, classFile, waits, memory, regions);
  }

  private static int length(int read) throws IOException {
    if (read < 0 || read > MAX_CLASS_BYTES) {
      throw new IOException("a length of " + read);
    }
    return read;
  }

  /** One loader a kernel, so that a dropped kernel's class can be unloaded. */
  private static final class Loader extends ClassLoader {
    private final byte[] bytes;

    Loader(byte[] bytes) {
      super(MemoryAccess.loader());
      this.bytes = bytes;
    }

    @Override
    protected Class<?> findClass(String name) {
      return defineClass(name, bytes, 0, bytes.length);
    }
  }
}
