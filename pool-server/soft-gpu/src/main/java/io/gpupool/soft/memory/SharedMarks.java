// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The records of an event that several processes know, in a page that they share: which is the
 * latest, and which of the last {@value #PLACES} are done. Any thread of any process may call it.
 *
 * <pre>
 *   u64 latest | u64 0 | place 1: u64 done, u64 process | ... ; record n is at place n mod 255
 * </pre>
 */
public final class SharedMarks {
  private static final int PLACES = 255;
  private static final long PLACE_BYTES = 16;
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_SHARED = 1;
  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();
  private static final CFunction MMAP = CFunction.of("mmap");
  private static final CFunction MUNMAP = CFunction.of("munmap");
  private static final long OWN_PROCESS = ProcessHandle.current().pid();

  private final SharedFile file;
  private final MemorySegment words;

  private SharedMarks(SharedFile file) {
    this.file = file;
    long address =
        MMAP.call(0, Mapping.PAGE_BYTES, PROT_READ_WRITE, MAP_SHARED, file.descriptor(), 0);
    if (address == -1) {
      file.close();
      throw new GpuException(CudaStatus.OUT_OF_MEMORY, "the system maps no more");
    }
    // Works that are under way may write to it when the event is long gone.
    words =
        MemorySegment.ofAddress(address)
            .reinterpret(
                Mapping.PAGE_BYTES,
                Arena.ofAuto(),
                gone -> MUNMAP.call(gone.address(), Mapping.PAGE_BYTES, 0));
  }

  /**
   * Of an event without a record.
   *
   * @throws GpuException NOT_SUPPORTED, OUT_OF_MEMORY
   */
  public static SharedMarks create() {
    return new SharedMarks(
        SharedFile.create(Mapping.PAGE_BYTES)
            .orElseThrow(() ->
                new GpuException(
                    CudaStatus.NOT_SUPPORTED,
                    "this system has no files in memory (memfd_create)")));
  }

  /** Of another process's event, by a descriptor of its page, which stays the caller's. */
  public static SharedMarks open(int descriptor) {
    return new SharedMarks(new SharedFile(SharedFile.duplicate(descriptor)));
  }

  public int descriptor() {
    return file.descriptor();
  }

  /** Begins a record; gives its number. */
  public long begin() {
    long number = (long) WORD.getAndAdd(words, 0L, 1L) + 1;
    WORD.setVolatile(words, place(number) + 8, OWN_PROCESS);
    return number;
  }

  /** A record is reached. */
  public void done(long number) {
    WORD.setVolatile(words, place(number), number);
  }

  /** The latest record of any process; 0 if there is none. */
  public long latest() {
    return (long) WORD.getVolatile(words, 0L);
  }

  /** Whether a record is reached, or its process is gone. */
  public boolean isDone(long number) {
    if (number == 0 || (long) WORD.getVolatile(words, place(number)) >= number) {
      return true;
    }
    long process = (long) WORD.getVolatile(words, place(number) + 8);
    return process != 0
        && process != OWN_PROCESS
        && !Files.exists(Path.of("/proc", Long.toString(process)));
  }

  /** The event is gone; what is under way may still be noted. */
  public void close() {
    file.close();
  }

  private static long place(long number) {
    return PLACE_BYTES * (1 + Math.floorMod(number, PLACES));
  }
}
